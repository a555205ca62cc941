// forward.mjs LISTEN TO: forwards connections, as `ssh -L` does. LISTEN and TO are each a port of
// 127.0.0.1 or the path of a Unix socket, which two network namespaces can share.
import { connect, createServer } from "node:net";

const place = (word) => (/^\d+$/.test(word) ? { host: "127.0.0.1", port: Number(word) } : word);
const [listen, to] = process.argv.slice(2).map(place);

createServer((near) => {
  const far = connect(to);
  const end = () => {
    near.destroy();
    far.destroy();
  };
  near.on("error", end).on("close", end);
  far.on("error", end).on("close", end);
  near.pipe(far).pipe(near);
}).listen(listen);

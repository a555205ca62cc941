// Removes what identifies this machine from published files.
import { homedir, hostname, userInfo } from "node:os";

export const LONGEST = 30_000;

export function scrubbed(text, scratch) {
  const words = [[scratch, "SCRATCH"], [process.cwd(), "."], [homedir(), "HOME"],
    [hostname(), "host"]];
  const clean = words.reduce((all, [word, instead]) => all.replaceAll(word, instead), text);
  return clean.replaceAll(`user.name=${userInfo().username}`, "user.name=user");
}

// As many whole lines as fit.
export function cut(text) {
  if (text.length <= LONGEST) return text;
  return text.slice(0, text.lastIndexOf("\n", LONGEST - 1) + 1);
}

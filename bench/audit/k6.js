// A closed loop of virtual users; with RATE an open one.
import http from "k6/http";

const open = {
  scenarios: { open: { executor: "constant-arrival-rate", rate: Number(__ENV.RATE),
    timeUnit: "1s", duration: `${__ENV.SECONDS}s`, preAllocatedVUs: Number(__ENV.VUS),
    maxVUs: Number(__ENV.VUS) } },
};

export const options = __ENV.RATE ? open : {};

export default function () {
  http.get(__ENV.TARGET);
}

"use strict";
// Runs before everything else and reports the state of the scripts on the root element of the page:
// data-report is loading, ready or failed; data-errors is the number of errors, and data-error the
// last one.
(() => {
  const root = document.documentElement;
  root.dataset.report = "loading";
  root.dataset.errors = "0";
  const count = (event) => {
    root.dataset.error = event.message ?? event.violatedDirective ?? String(event.reason);
    root.dataset.errors = String(Number(root.dataset.errors) + 1);
    root.dataset.report = "failed";
  };
  for (const event of ["error", "unhandledrejection", "securitypolicyviolation"]) {
    addEventListener(event, count);
  }
})();

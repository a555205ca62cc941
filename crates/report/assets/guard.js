"use strict";
// Runs before everything else and says on the page's root element how the scripts fared:
// data-report is loading, ready or failed; data-errors counts what went wrong and data-error says
// what was last.
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

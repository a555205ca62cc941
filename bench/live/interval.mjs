// The mean of paired differences and its interval at 95 %, by Student's t.

// Quantiles of t at 97.5 %, for 1 to 30 degrees of freedom; beyond them that of the normal.
const T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
  2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056,
  2.052, 2.048, 2.045, 2.042];

export const interval = (values) => {
  const count = values.length;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  if (count < 2) return { mean, low: -Infinity, high: Infinity };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const half = (T[count - 2] ?? 1.96) * Math.sqrt(squares / (count - 1) / count);
  return { mean, low: mean - half, high: mean + half };
};

/** Quantile of sorted values; 0 without values. */
export function quantile(values: readonly number[], capacity: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * capacity)] ?? 0
}

export function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

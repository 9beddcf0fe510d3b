/** The value that so great a share of them lies below; 0 where there are none. */
export function quantile(values: readonly number[], capacity: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * capacity)] ?? 0
}

/** To three places. */
export function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

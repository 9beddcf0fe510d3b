/** Formats a number of things: `1 chain`, `2 chains`, `0 policies`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

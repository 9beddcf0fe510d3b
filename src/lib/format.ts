/** Formats a number of things: `1 chain`, `2 chains`, `0 policies`. */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** Formats a number of bytes in the largest binary unit that keeps it whole: `512 MiB`, `1000 bytes`. */
export function formatBytes(bytes: number): string {
  const [size, unit] = units.find(([each]) => bytes >= each && bytes % each === 0) ?? [1, 'bytes']
  return `${bytes / size} ${unit}`
}

const units: readonly (readonly [size: number, name: string])[] = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
]

/** Quotes an argument for a POSIX shell. */
export function quoteForShell(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** Aligns columns, two spaces apart; the last column is not padded. */
export function alignColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

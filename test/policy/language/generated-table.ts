/** A table in docs/policy-reference.md that `npm run reference` writes between two comments. */
export interface GeneratedTable {
  readonly name: string
  /** Rows of cells, the heading first. */
  readonly rows: readonly (readonly string[])[]
}

/** Replaces the table in the text. */
export function replaceTable(text: string, { name, rows: [headings = [], ...rows] }: GeneratedTable): string {
  const lines = [headings, headings.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
  return text.replace(tablePattern(name), () => `\n${lines.join('\n')}\n\n`)
}

/** Rows of the table in the text, without the padding of cells. */
export function readTable(text: string, { name }: GeneratedTable): readonly string[] {
  const rows = tablePattern(name).exec(text)?.[0].trim().split('\n') ?? []
  return rows.map((row) => row.replaceAll(/ *\| */g, '|').replaceAll(/-+/g, '-'))
}

function tablePattern(name: string): RegExp {
  return new RegExp(`(?<=<!-- ${name}: npm run reference -->\\n)[^]*?(?=<!-- end -->)`)
}

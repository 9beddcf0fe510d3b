import { describeFactSource, type FactSource } from '../../../src/catalog-api/facts.ts'

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

/** Where a request states a fact, such as "body `mode`", which is shorter than in messages of errors. */
export function formatSource(source: FactSource): string {
  return describeFactSource(source)
    .replace(/^the member (".*") of the body$/, 'body $1')
    .replace(/^the query parameter /, 'query ')
    .replace(/^the header /, 'header ')
    .replace(/^(".*") among the properties$/, 'properties $1')
    .replaceAll('"', '`')
}

function tablePattern(name: string): RegExp {
  return new RegExp(`(?<=<!-- ${name}: npm run reference -->\\n)[^]*?(?=<!-- end -->)`)
}

import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { errorCodes, refusal, refusals, type RefusalReason } from '../../src/catalog-api/catalog-error.ts'

const page = await readFile(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) =>
  row.split('|').map((cell) => cell.trim()),
)

it('has every error code with its name and status', () => {
  const listed = rows.filter(([code = '']) => /^\d+$/.test(code)).map((row) => row.slice(0, 3))
  const defined = Object.entries(errorCodes).map(([name, { code, status }]) => [
    String(code),
    `\`${name}\``,
    String(status),
  ])
  expect(listed).toEqual(defined)
})

it('has every reason with its status', () => {
  const reasons = Object.keys(refusals) as RefusalReason[]
  const expected = new Map(
    reasons.map((reason) => {
      const { status } = refusal(reason, '')
      return [`\`${reason}\``, reason === 'catalog_error' ? 'any' : String(status)]
    }),
  )
  const listed = rows.flatMap(([reason = '', status = '']) =>
    /^`[a-z_]+`$/.test(reason) ? [[reason, status]] : [],
  )
  expect(listed.length).toBe(reasons.length)
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(expected))
})

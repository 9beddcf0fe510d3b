import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../src/audit/log/audit-log.ts'
import {
  errorCodes,
  getRefusalOptions,
  refusals,
  type RefusalReason,
} from '../../src/catalog-api/catalog-error.ts'
import { aRefusal, logOptions } from '../audit/audit-fixtures.ts'
import { listCommands } from '../support/code-blocks.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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
      const { status = errorCodes[refusals[reason].kind].status } = getRefusalOptions(reason)
      return [`\`${reason}\``, reason === 'catalog_error' ? 'any' : String(status)]
    }),
  )
  const listed = rows.flatMap(([reason = '', status = '']) =>
    /^`[a-z_]+`$/.test(reason) ? [[reason, status]] : [],
  )
  expect(listed.length).toBe(reasons.length)
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(expected))
})

it('has commands that say why a call was denied', async () => {
  const folder = await temporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  log.recordRefusal(aRefusal('ID'))
  await log.close()
  const values = new Map([
    ['DIR', folder],
    ['POLICIES', 'policies/examples'],
  ])
  const commands = listCommands(page)
  expect(commands.length).toBeGreaterThan(3)
  for (const command of commands) {
    const [program, ...words] = command.split(' ')
    expect(program).toBe('catalog-gateway')
    const end = await runCommand(words.map((word) => values.get(word) ?? word))
    expect(end, command).toMatchObject({ output: expect.stringContaining('\n') })
    expect(end.messages, command).toBe('')
  }
})

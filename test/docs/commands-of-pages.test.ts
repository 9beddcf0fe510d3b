import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../src/audit/log/audit-log.ts'
import { aRefusal, anIntent, committed, logOptions } from '../audit/audit-fixtures.ts'
import { listCommands } from '../support/code-blocks.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

it.each(['audit', 'troubleshooting'])('every command of docs/%s.md finds what it is about', async (name) => {
  const page = await readFile(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
  // The command compare needs a catalog.
  const commands = listCommands(page).filter((command) => !command.includes('audit compare'))
  expect(commands.length).toBeGreaterThan(3)
  const folder = await temporaryFolder()
  const log = await openAuditLog(logOptions(folder))
  const ann = { name: 'ann', method: 'api-key', credentialId: 'a' } as const
  const table = { id: ['prod', 'sales', 'orders'], principal: ann }
  await log.recordOutcome(
    await log.recordIntent({ ...anIntent('change'), ...table, operation: 'InsertIntoTable' }),
    committed,
  )
  log.recordRefusal({ ...aRefusal('ID'), ...table, operation: 'DropTable' })
  await log.close()
  const values = new Map([
    ['DIR', folder],
    ['FILE', join(folder, 'seal-public-key.pem')],
    ['POLICIES', 'policies/examples'],
    ['2027-01-01T00:00:00Z', '2020-01-01T00:00:00Z'],
  ])
  for (const command of commands) {
    const words = command.replaceAll("'", '').split(' ')
    expect(words[0]).toBe('catalog-gateway')
    const end = await runCommand(words.slice(1).map((word) => values.get(word) ?? word))
    expect(end, command).toMatchObject({ status: 0, output: expect.stringContaining('\n') })
    // Of a group that no rule names.
    expect(end.messages, command).not.toContain('note: ')
  }
})

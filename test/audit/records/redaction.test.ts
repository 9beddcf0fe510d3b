import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAuditLog } from '../../../src/audit/log/audit-log.ts'
import type { IntentEntry } from '../../../src/audit/records/audit-record.ts'
import { redactionSchema } from '../../../src/config/audit-settings.ts'
import { aRefusal, anIntent, logOptions, ofKind, recordsOf } from '../audit-fixtures.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const filter = "card = '4111 1111 1111 1111'"

const entry: IntentEntry = {
  ...anIntent('one', { predicate: filter, when_matched_update_all_filt: filter, mode: 'append' }),
  objects: [{ operation: 'UpdateTable', id: ['t'], details: { predicate: filter } }],
  context: { tenant: 'acme', secret: 'planted' },
  principal: {
    ...anIntent('').principal,
    claims: { department: 'sales', email: 'alice@example.org' },
    groups: new Set(['corp:writers', 'corp:admins', 'corp:planted']),
  },
}

async function recorded(settings: object, folder?: string) {
  const logFolder = folder ?? (await temporaryFolder())
  const log = await openAuditLog(logOptions(logFolder, { redaction: redactionSchema.parse(settings) }))
  await log.recordIntent(entry)
  log.recordRefusal({ ...aRefusal('two', { filter }), client: entry.client })
  await log.close()
  const records = await recordsOf(logFolder)
  const [intent, refusal] = [ofKind(records, 'intent').at(-1), ofKind(records, 'refusal').at(-1)]
  if (intent === undefined || refusal === undefined) throw new Error('The records are not there.')
  return { intent, refusal, text: JSON.stringify(records) }
}

it('records no SQL, claims, groups or context entries by default', async () => {
  const { intent, refusal, text } = await recorded({})
  for (const planted of ['4111 1111', 'planted', 'acme', 'sales', 'alice@example.org'])
    expect(text).not.toContain(planted)
  expect(intent.details).toEqual({
    mode: 'append',
    predicate: expect.stringMatching(/^hmac-sha256:[0-9a-f]{32}$/),
    when_matched_update_all_filt: intent.details?.['predicate'],
  })
  expect(intent.objects?.[0]?.details).toEqual({ predicate: intent.details?.['predicate'] })
  expect(refusal.details).toEqual({ filter: intent.details?.['predicate'] })
  expect(intent).toMatchObject({ client: '10.0.0.1', principal: { name: 'corp:alice', method: 'token' } })
})

it('records only what is allowed by name', async () => {
  const { intent, text } = await recorded({
    recordedClaims: ['department'],
    recordedContextKeys: ['tenant'],
  })
  expect(intent.context).toEqual({ tenant: 'acme' })
  expect(intent.principal.claims).toEqual({ department: 'sales' })
  expect(text).not.toContain('planted')
  expect(text).not.toContain('alice@example.org')
})

it.each([
  [1, { groups: ['corp:admins'], groupsOmitted: 2 }],
  [3, { groups: ['corp:admins', 'corp:planted', 'corp:writers'] }],
])('records at most %i groups, and how many it omits', async (maxRecordedGroups, expected) => {
  const { principal } = (await recorded({ maxRecordedGroups })).intent
  expect(principal).toEqual({ ...anIntent('').principal, ...expected })
})

it('records that a caller has no groups', async () => {
  const { principal } = (await recorded({ maxRecordedGroups: 1 })).refusal
  expect(principal).toEqual({ ...anIntent('').principal, groups: [] })
})

it('pseudonyms are equal for the same name and key, and differ for another key', async () => {
  const folder = await temporaryFolder()
  const settings = { pseudonymize: ['principals', 'addresses'] }
  const first = await recorded(settings, folder)
  const again = await recorded(settings, folder)
  const other = await recorded(settings)
  const { name, credentialId } = first.intent.principal
  expect(name).toMatch(/^p-[0-9a-f]{32}$/)
  expect(first.intent.client).toMatch(/^a-[0-9a-f]{32}$/)
  expect(first.refusal).toMatchObject({ principal: { name, credentialId }, client: first.intent.client })
  expect(again.intent).toMatchObject({ principal: first.intent.principal, client: first.intent.client })
  expect(other.intent.principal.name).not.toBe(name)
  expect(first.text).not.toMatch(/alice|10\.0\.0\.1|0123456789abcdef/)
})

it('generates a key readable by its owner only, or reads one of sufficient length', async () => {
  const folder = await temporaryFolder()
  await recorded({}, folder)
  const made = join(folder, 'redaction-key')
  expect((await stat(made)).mode & 0o777).toBe(0o600)
  const keyFile = join(await temporaryFolder(), 'key')
  await writeFile(keyFile, `${await readFile(made, 'utf8')}\n`)
  const same = await recorded({ keyFile })
  expect(same.intent.details).toEqual((await recorded({}, folder)).intent.details)
  await writeFile(keyFile, 'short')
  await expect(recorded({ keyFile })).rejects.toThrow('has 5 bytes; expected at least 32')
})

it('principals, actors and ids in changes of keys get the pseudonyms of requests; many changes get several records', async () => {
  const folder = await temporaryFolder()
  const redaction = redactionSchema.parse({ pseudonymize: ['principals'] })
  const log = await openAuditLog(logOptions(folder, { redaction }))
  await log.recordIntent({ ...entry, principal: { name: 'ada', method: 'api-key', credentialId: 'key-1' } })
  const rotated = { change: 'rotated', key: 'key-2', principal: 'ada', by: 'eve', replaces: 'key-1' } as const
  const keys = Array.from({ length: 150 }, (_, index) => ({ ...rotated, key: `key-${index + 2}` }))
  log.recordReload({ what: 'keys', revision: 'api-keys', keys })
  await log.close()
  const records = await recordsOf(folder)
  const { name, credentialId } = ofKind(records, 'intent')[0]?.principal ?? {}
  const reloads = ofKind(records, 'reload')
  expect(reloads.map((reload) => reload.keys?.length)).toEqual([100, 50])
  expect(reloads[0]?.keys?.[0]).toEqual({
    change: 'rotated',
    key: expect.stringMatching(/^c-[0-9a-f]{32}$/),
    principal: name,
    by: expect.stringMatching(/^p-[0-9a-f]{32}$/),
    replaces: credentialId,
  })
  expect(JSON.stringify(records)).not.toMatch(/"(?:ada|eve|key-\d+)"/)
})

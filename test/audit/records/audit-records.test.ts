import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aRefusal, anIntent, committed, openLog, recordsOf, segmentsOf } from '../audit-fixtures.ts'

/** Start of a line, with a letter for each value that differs between logs. */
function head(kind: string, seq: number): string {
  return (
    `{"v":1,"kind":"${kind}","chain":"C","seq":${seq},"time":"T","prev":"H",` +
    `"tables":[{"id":["production","orders"]}],`
  )
}

it('a change and a refusal produce exactly these lines', async () => {
  const { folder, log } = await openLog()
  const intent = { ...anIntent('a', { version: 7, manifest_path: 'x' }), before: 6, context: { tenant: 't' } }
  const versions = [{ id: intent.id, branch: undefined, version: 7, eTag: '"e"' }]
  await log.recordOutcome(await log.recordIntent(intent), { ...committed, versions })
  log.recordRefusal(aRefusal('b', { needs: 'DropTable' }))
  await log.close()

  const [file = ''] = await segmentsOf(folder)
  const lines = (await readFile(join(folder, file), 'utf8')).split('\n').slice(2, 5)
  const fixed = lines.map((line) =>
    line
      .replace(/"chain":"[^"]+"/, '"chain":"C"')
      .replace(/"time":"[^"]+"/, '"time":"T"')
      .replace(/"mac":"[\w-]{22}"/, '"mac":"M"')
      .replaceAll(/[0-9a-f]{64}/g, 'H'),
  )
  const who =
    '"principal":{"name":"corp:alice","method":"token","credentialId":"0123456789abcdef","issuer":"corp"}'
  expect(fixed).toEqual([
    `${head('intent', 2)}"request":"a","operation":"CreateTableVersion","id":["production","orders"],` +
      `"effect":"commit",${who},` +
      '"rule":{"policy":"production","rule":"writers","file":"production.yaml","line":12},' +
      '"policyRevision":"r1","client":"10.0.0.1","upstream":"main",' +
      '"details":{"version":7,"manifest_path":"x"},"before":6,"mac":"M","hash":"H"}',
    `${head('outcome', 3)}"request":"a","intentSeq":2,"result":"committed","status":200,"version":7,"durationMs":3,` +
      '"versions":[{"id":["production","orders"],"version":7,"eTag":"\\"e\\""}],"mac":"M","hash":"H"}',
    `${head('refusal', 4)}"request":"b","status":403,"reason":"no_rule","operation":"CreateTableVersion",` +
      `"id":["production","orders"],${who},"client":"10.0.0.1",` +
      '"details":{"needs":"DropTable"},"mac":"M","hash":"H"}',
  ])
})

it('ignores additional members of principals and rules', async () => {
  const { folder, log } = await openLog()
  const extra = { headers: 'SECRET' }
  const intent = anIntent('a')
  const principal = { ...intent.principal, ...extra, groups: new Set(['corp:sales']) }
  const rule = { ...intent.rule, ...extra }
  const receipt = await log.recordIntent({ ...intent, principal, rule })
  await log.recordOutcome(receipt, committed)
  log.recordRefusal({ ...aRefusal('b'), principal, rule })
  await log.close()
  expect(JSON.stringify(await recordsOf(folder))).not.toMatch(/SECRET|sales/)
})

it('rejects an entry that is not valid JSON without side effects', async () => {
  const { folder, log } = await openLog()
  const details = { version: 7n as unknown as number }
  await expect(log.recordIntent(anIntent('a', details))).rejects.toThrow(TypeError)
  await log.recordIntent(anIntent('b'))
  await log.close()
  expect((await recordsOf(folder)).map(({ seq }) => seq)).toEqual([0, 1, 2, 3])
})

import { userInfo } from 'node:os'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import type { ReloadEntry } from '../../src/audit/records/audit-record.ts'
import { openGateway, type TestedGateway } from '../gateway/support/open-gateway.ts'
import { eventually } from '../support/eventually.ts'
import { runCommand } from '../support/run-command.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'

/** Who changes the keys: the user of the operating system. */
const me = userInfo().username

let dataFolder = ''
const inFolder = (name: string): string => join(dataFolder, name)

async function keys(command: string, ...parameters: readonly string[]): Promise<string> {
  const end = await runCommand(['keys', command, '--store', inFolder('keys.yaml'), ...parameters])
  expect(end.status, end.messages).toBe(0)
  return end.output.trim()
}

/** Creates a key and returns its id. */
async function create(principal: string): Promise<string> {
  await keys('create', '--pepper-file', inFolder('pepper'), '--principal', principal)
  const line = (await keys('list')).split('\n').find((text) => text.includes(`  ${principal}  `))
  return line?.split(' ')[0] ?? ''
}

async function listReloads(): Promise<readonly ReloadEntry[]> {
  const { output } = await runCommand(['audit', 'query', inFolder('audit'), '--json'])
  const records = output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ReloadEntry)
  return records.filter(({ what }) => what === 'keys')
}

/** Starts a gateway with the key store and the log of the test. */
function start(): Promise<TestedGateway> {
  return openGateway('http://127.0.0.1:1', {
    adjust: (settings) => ({
      ...settings,
      identity: {
        ...settings.identity,
        apiKeys: { store: inFolder('keys.yaml'), pepperFile: inFolder('pepper') },
      },
      audit: { ...settings.audit, folder: inFolder('audit') },
    }),
  })
}

/** Starts and stops a gateway, and returns the reloads of keys that it recorded. */
async function runGateway(): Promise<readonly ReloadEntry[]> {
  const before = await listReloads()
  const gateway = await start()
  await gateway.close()
  return (await listReloads()).slice(before.length)
}

let [ada, bob, eve] = ['', '', '']

beforeAll(async () => {
  dataFolder = await makeTemporaryFolder()
  ada = await create('ada')
  const gateway = await start()
  ;[bob, eve] = [await create('bob'), await create('eve')]
  await eventually(async () => {
    const recorded = await readFile(inFolder('audit/recorded-keys.json'), 'utf8')
    expect(recorded).toContain(eve)
  })
  await gateway.close()
  return () => removeFolder(dataFolder)
})

it('the first start records no keys, and a running gateway those that are created', async () => {
  const reloads = await listReloads()
  expect(reloads.flatMap(({ keys: changes }) => changes ?? []).map(({ key }) => key)).toEqual([bob, eve])
})

it('a start records what changed while no gateway ran, and the next one nothing', async () => {
  expect(await runGateway()).toEqual([])
  const judy = await create('judy')
  await keys('revoke', ada)
  const text = await readFile(inFolder('keys.yaml'), 'utf8')
  const rest = text.split('\n').filter((line) => !line.includes(eve))
  await writeFile(inFolder('keys.yaml'), rest.join('\n').replace('"principal":"bob"', '"principal":"bert"'))
  expect(await runGateway()).toMatchObject([
    {
      what: 'keys',
      revision: 'api-keys',
      details: { found: 'at start' },
      keys: [
        { change: 'revoked', key: ada, principal: 'ada', by: me },
        { change: 'changed', key: bob, principal: 'bert', members: ['principal'] },
        { change: 'created', key: judy, principal: 'judy', by: me },
        { change: 'removed', key: eve, principal: 'eve' },
      ],
    },
  ])
  const { output } = await runCommand(['audit', 'query', inFolder('audit'), '--principal', me])
  expect(output).toContain(`keys api-keys; found at start; revoked ${ada} of ada by ${me}; `)
  expect(await runGateway()).toEqual([])
})

it('the file of recorded keys has no hash of the store', async () => {
  const store = await readFile(inFolder('keys.yaml'), 'utf8')
  const recorded = await readFile(inFolder('audit/recorded-keys.json'), 'utf8')
  const hashes = [...store.matchAll(/"hash":"(\w{64})"/g)].map(([, hash = '']) => hash)
  expect(hashes).toHaveLength(3)
  for (const hash of hashes) expect(recorded).not.toContain(hash)
})

it('a start records that it cannot read the recorded keys, and replaces them', async () => {
  await writeFile(inFolder('audit/recorded-keys.json'), '{')
  expect(await runGateway()).toMatchObject([{ details: { found: 'at start', result: 'failure' } }])
  expect(await runGateway()).toEqual([])
})

import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { devFiles, findDevelopmentFiles } from '../../../src/commands/dev/dev.ts'
import { readGatewaySettings } from '../../../src/config/gateway-settings.ts'
import { runProgram } from '../../e2e/built-program.ts'
import { runCommand } from '../../support/run-command.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const policies = fileURLToPath(new URL('../../../policies/development', import.meta.url))

/** Creates settings that name the files and policies of a `dev` data folder. */
async function developmentSettings(changes: object = {}): Promise<string> {
  const folder = await temporaryFolder()
  const data = join(folder, '.catalog-gateway')
  await mkdir(data)
  await writeFile(join(data, devFiles.key), 'dev-key\n')
  await writeFile(join(data, devFiles.store), 'keys: []\n')
  await writeFile(join(data, devFiles.pepper), 'p'.repeat(43))
  await cp(policies, join(folder, 'policies'), { recursive: true })
  await symlink(policies, join(folder, 'linked'))
  const file = join(folder, 'gateway.yaml')
  const apiKeys = {
    store: `.catalog-gateway/${devFiles.store}`,
    pepperFile: `.catalog-gateway/${devFiles.pepper}`,
  }
  await writeFile(
    file,
    stringify({
      listen: { port: 0 },
      admin: { port: 0 },
      upstream: { url: 'https://catalog.example' },
      identity: { apiKeys },
      policies: { folder: 'policies' },
      audit: { folder: 'audit' },
      ...changes,
    }),
  )
  return file
}

/** Only `serve` needs a process of its own. */
const run = (command: string, file: string) =>
  (command === 'serve' ? runProgram : runCommand)([command, '--config', file])

async function found(changes: object): Promise<readonly string[]> {
  return findDevelopmentFiles(await readGatewaySettings(await developmentSettings(changes), {}))
}

it.for(['check', 'serve'])('%s refuses the keys of dev', async (command) => {
  const file = await developmentSettings()
  const { status, output, messages } = await run(command, file)
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(
    /identity\.apiKeys\.store is in the data folder of `dev`.*unsafe: \[development-key\]/,
  )
})

it.for([
  ['check', 'policies', 'a copy'],
  ['check', 'linked', 'a link'],
  ['check', dirname(policies), 'a folder around them'],
])('%s refuses the policies of dev in %s: %s', async ([command = '', folder]) => {
  const file = await developmentSettings({ policies: { folder }, unsafe: ['development-key'] })
  const { status, output, messages } = await run(command, file)
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(messages).toMatch(
    /development\.yaml:\d+:7: mode is development: .*; expected another folder, or unsafe: \[development-policies\]/,
  )
})

it('detects the key of dev as a credential', async () => {
  const credential = { header: 'x-api-key', file: `.catalog-gateway/${devFiles.key}` }
  const changes = { upstream: { url: 'https://catalog.example', credential } }
  expect((await found(changes)).at(-1)).toMatch(/^the credential of catalog /)
})

it('detects the key of dev as a bootstrap key', async () => {
  const bootstrapKey = { file: `.catalog-gateway/${devFiles.key}`, principal: 'ada' }
  expect(await found({ identity: { bootstrapKey } })).toEqual([
    expect.stringMatching(/^identity\.bootstrapKey\.file .*development-key\]$/),
  ])
})

it('ignores accepted files and files that are not from dev', async () => {
  expect(await found({ unsafe: ['development-key'] })).toEqual([])
  const unsafe = ['development-key', 'development-policies']
  const accepted = await developmentSettings({ policies: { folder: policies }, unsafe })
  expect(await run('check', accepted)).toMatchObject({ status: 0 })
  const file = await developmentSettings()
  await rm(join(file, '..', '.catalog-gateway', devFiles.key))
  expect(await readFile(file, 'utf8')).toContain(devFiles.store)
  expect(await findDevelopmentFiles(await readGatewaySettings(file, {}))).toEqual([])
})

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startProgram } from '../e2e/built-program.ts'
import { runCommand } from '../support/run-command.ts'
import { startDev, withoutProblems } from '../e2e/running-dev.ts'
import { hasOpenssl, makeAuthority } from '../identity/mtls/test-certificates.ts'
import { linesOf, servingProgram, type ServingProgram } from '../observability/serving-gateway.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { eventually } from '../support/eventually.ts'
import { isThorough } from '../support/thorough.ts'

const logLine = (gateway: ServingProgram, msg: string) => {
  const whole = gateway.program.messages().replace(/[^\n]*$/, '')
  return linesOf(whole).find((line) => line['msg'] === msg)
}

const certificateReloads = (messages: string) =>
  linesOf(messages).filter(({ msg, setting }) => msg === 'file reloaded' && setting === 'listen.tls')

it('SIGHUP reads every watched file again, other signals nothing, and SIGQUIT ends it gracefully', async () => {
  const files = { 'jwks.json': JSON.stringify({ keys: [] }) }
  const issuer = { name: 'corp', issuer: 'https://idp.test', audience: 'a', jwks: { file: 'jwks.json' } }
  const keys = { store: 'keys.yaml', pepperFile: 'pepper' }
  const gateway = await servingProgram(
    { identity: { apiKeys: keys, issuers: [{ ...issuer, algorithms: ['RS256'] }] } },
    files,
  )
  const create = async () => (await gateway.post('/v1/namespace/a/create')).status
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) gateway.program.signal(signal)
  // Unchanged files.
  gateway.program.signal('SIGHUP')
  await eventually(() => {
    expect(logLine(gateway, 'policies reloaded')).toMatchObject({ level: 30, revision: expect.any(String) })
    const sources = linesOf(gateway.program.messages())
      .filter(({ msg }) => msg === 'keys reloaded')
      .map(({ source }) => source)
    expect(new Set(sources)).toEqual(new Set(['api-keys', 'corp']))
  })
  expect(await create()).toBe(200)

  // Invalid policies: the error is logged each time, and the previous ones stay in force.
  await writeFile(join(gateway.folder, 'policies', 'policies.yaml'), 'kind: Nothing\n')
  const refused = 'policy reload failed'
  gateway.program.signal('SIGHUP')
  await eventually(() =>
    expect(logLine(gateway, refused)).toMatchObject({ error: expect.stringContaining('policies.yaml:1') }),
  )
  gateway.program.signal('SIGHUP')
  await eventually(() => expect(gateway.program.messages().split(refused).length).toBeGreaterThan(2))
  expect(await create()).toBe(200)

  gateway.program.signal('SIGQUIT')
  const { status, messages } = await gateway.program.ended
  expect(status).toBe(0)
  expect(messages).not.toMatch(/debugger/i)
  const audit = join(gateway.folder, 'audit')
  expect((await readdir(audit)).filter((name) => name.endsWith('.lock'))).toEqual([])
  expect((await runCommand(['audit', 'verify', audit])).messages).not.toContain('unsealed')
})

it.skipIf(!hasOpenssl())('SIGHUP reads the certificates once (skipped without openssl)', async () => {
  const authority = await makeAuthority(await temporaryFolder(), 'own')
  const { certFile, keyFile } = await authority.issue('server', 'IP:127.0.0.1')
  const files = { 'tls.pem': await readFile(certFile, 'utf8'), 'tls.key': await readFile(keyFile, 'utf8') }
  const tls = { certFile: 'tls.pem', keyFile: 'tls.key' }
  const gateway = await servingProgram({ listen: { port: 0, tls } }, files)
  gateway.program.signal('SIGHUP')
  await eventually(() => expect(certificateReloads(gateway.program.messages())).not.toEqual([]))
  expect(certificateReloads(await gateway.stop())).toHaveLength(1)
})

it.runIf(isThorough)('dev reloads policies and keys on SIGHUP and continues', async () => {
  const dev = await startDev({ dataFolder: await temporaryFolder() })
  dev.program.signal('SIGHUP')
  await eventually(() => expect(dev.program.messages()).toContain('policies reloaded'))
  expect((await dev.send('GET', '/v1/namespace/$/list')).status).toBe(200)
  expect(await dev.stop()).toMatchObject({ status: 0, messages: withoutProblems })
})

it.runIf(isThorough)('backend has nothing to reload on SIGHUP, says so, and continues', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'catalog.yaml')
  await writeFile(file, 'listen: {port: 0}\ndata: {folder: data}\n')
  const program = startProgram(['backend', '--config', file])
  const url = await program.announced(/^listening on (http:\S+)$/m)
  program.signal('SIGHUP')
  await eventually(() =>
    expect(program.messages()).toMatch(/^SIGHUP ignored: changed settings require a restart/),
  )
  expect((await fetch(`${url}/v1/namespace/$/list`)).status).toBe(200)
  program.signal('SIGTERM')
  expect(await program.ended).toMatchObject({ status: 0 })
})

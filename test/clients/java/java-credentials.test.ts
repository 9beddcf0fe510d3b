import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, it } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { hasOpenssl, makeAuthority, type TestAuthority } from '../../identity/mtls/test-certificates.ts'
import { runScenario } from '../run-scenario.ts'
import { startTokenGateway } from '../token-gateway.ts'
import type { JavaClient } from './java-libraries.ts'
import { compileScenario } from './java-programs.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const run = promisify(execFile)

/** Runs a scenario with a token against a gateway whose certificate that authority issued. */
async function expectTokenAccepted(authority: TestAuthority, command: readonly [string, ...string[]]) {
  const gateway = await startTokenGateway(await authority.issue('gateway', 'IP:127.0.0.1'))
  const passed = await runScenario(command, gateway.url, await gateway.sign('alice'))
  expect(passed.length).toBeGreaterThan(1)
  const [created, ...others] = await auditedChanges(gateway.auditFolder, 'CreateNamespace', ['token'])
  expect(created?.intent.principal.name).toBe('corp:alice')
  expect(created?.outcome?.result).toBe('committed')
  expect(others).toEqual([])
}

/** Makes a trust store of Java that contains only that authority. */
async function makeTrustStore({ certFile }: TestAuthority, password: string): Promise<string> {
  const store = join(await temporaryFolder(), 'authority.p12')
  const options = ['-importcert', '-noprompt', '-storetype', 'PKCS12', '-storepass', password]
  await run('keytool', [...options, '-keystore', store, '-file', certFile])
  return store
}

describe.skipIf(!hasOpenssl())('tokens and a private authority (skipped without openssl)', () => {
  it('the generated client sends a token, and trusts the authority of a trust store', async ({ skip }) => {
    const client = 'lance-namespace-apache-client'
    skip(!inject('installedClients').includes(client), `${client} is not installed`)
    const authority = await makeAuthority(await temporaryFolder(), 'authority')
    const password = 'changeit'
    const trust = [
      `-Djavax.net.ssl.trustStore=${await makeTrustStore(authority, password)}`,
      `-Djavax.net.ssl.trustStorePassword=${password}`,
    ]
    const [java, ...options] = await compileScenario(client, 'CatalogCredentialsScenario')
    await expectTokenAccepted(authority, [java, ...trust, ...options])
  })

  it.for<[JavaClient, scenario: string]>([
    ['lance-core', 'LanceCredentialsScenario'],
    ['lance-spark', 'SparkCredentialsScenario'],
  ])('%s sends a token, and trusts an authority', async ([client, scenario], { skip }) => {
    skip(!inject('installedClients').includes(client), `${client} is not installed`)
    const authority = await makeAuthority(await temporaryFolder(), 'authority')
    const command = await compileScenario(client, scenario)
    await expectTokenAccepted(authority, [...command, authority.certFile])
  })
})

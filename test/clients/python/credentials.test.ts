import { describe, expect, inject, it } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { runScenario } from '../run-scenario.ts'
import { startTokenGateway } from '../token-gateway.ts'
import { scriptCommand } from './python-scripts.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

async function startTlsGateway() {
  const authority = await makeAuthority(await temporaryFolder(), 'authority')
  const gateway = await startTokenGateway(await authority.issue('gateway', 'IP:127.0.0.1'))
  return { ...gateway, caFile: authority.certFile }
}

describe.skipIf(!hasOpenssl())('tokens and a private authority (skipped without openssl)', () => {
  it('LanceDB writes with a token, and with a header provider whose token changes', async ({ skip }) => {
    skip(!inject('installedClients').includes('lancedb-0.40.0'), 'lancedb-0.40.0 is not installed')
    const gateway = await startTlsGateway()
    const [token, other] = [await gateway.sign('alice'), await gateway.sign('bob')]
    const command = scriptCommand('lancedb-0.40.0', 'credentials_scenario.py', gateway.caFile, other)
    const passed = await runScenario(command, gateway.url, token)
    expect(passed).toHaveLength(7)

    const changesOf = async (table: string) => {
      const changes = await auditedChanges(gateway.auditFolder, undefined, [table])
      return changes.map(({ intent, outcome }) => [intent.operation, intent.principal.name, outcome?.result])
    }
    const created = ['CreateTable', 'corp:alice', 'committed']
    for (const table of ['token', 'token_async']) {
      expect(await changesOf(table)).toEqual([created, ['InsertIntoTable', 'corp:alice', 'committed']])
    }
    for (const table of ['provider', 'provider_async']) {
      expect(await changesOf(table)).toEqual([created, ['InsertIntoTable', 'corp:bob', 'committed']])
    }
    for (const table of ['forged', 'both', 'unknown']) expect(await changesOf(table)).toEqual([])
  })

  it('pylance commits with a token', async ({ skip }) => {
    skip(!inject('installedClients').includes('lance-14.0.2'), 'lance-14.0.2 is not installed')
    const gateway = await startTlsGateway()
    const command = scriptCommand('lance-14.0.2', 'lance_credentials_scenario.py', gateway.caFile)
    const passed = await runScenario(command, gateway.url, await gateway.sign('alice'))
    expect(passed).toHaveLength(7)
    const commits = await auditedChanges(gateway.auditFolder, 'CreateTableVersion', ['lake', 'written'])
    const committers = commits.map(({ intent, outcome }) => [intent.principal.name, outcome?.result])
    expect(committers).toEqual([
      ['corp:alice', 'committed'],
      ['corp:alice', 'committed'],
    ])
  })
})

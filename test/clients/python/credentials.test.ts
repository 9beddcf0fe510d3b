import { describe, expect, inject, it } from 'vitest'
import { auditedChanges } from '../../e2e/audited-changes.ts'
import { temporaryFolder } from '../../e2e/built-program.ts'
import { hasOpenssl, makeAuthority } from '../../identity/mtls/test-certificates.ts'
import { runScenario } from '../run-scenario.ts'
import { startTokenGateway } from '../token-gateway.ts'
import { scriptCommand } from './python-scripts.ts'

const environment = 'lancedb-0.40.0'

describe.skipIf(!hasOpenssl())('tokens and a private authority (skipped without openssl)', () => {
  it('LanceDB writes with a token, and with a header provider whose token changes', async ({ skip }) => {
    skip(!inject('installedClients').includes(environment), `${environment} is not installed`)
    const authority = await makeAuthority(await temporaryFolder(), 'authority')
    const gateway = await startTokenGateway(await authority.issue('gateway', 'IP:127.0.0.1'))
    const [token, other] = [await gateway.sign('alice'), await gateway.sign('bob')]
    const scenario = [
      ...scriptCommand(environment, 'credentials_scenario.py'),
      authority.certFile,
      other,
    ] as const
    const { passed, failed } = await runScenario(scenario, gateway.url, token)
    expect(failed).toEqual([])
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
})

import { join } from 'node:path'
import { Pool } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readAuditLog } from '../../../src/audit/storage/read-audit-log.ts'
import type { AuditRecord } from '../../../src/audit/records/audit-record.ts'
import { countRefusals } from '../../gateway/support/count-refusals.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { openGateway, type GatewaySetup, type TestedGateway } from '../../gateway/support/open-gateway.ts'
import { startRecordingUpstream, type RecordingUpstream } from '../../gateway/support/recording-upstream.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { createTestResponse, type TestResponse } from '../../gateway/support/test-response.ts'
import {
  hasOpenssl,
  makeAuthority,
  type TestAuthority,
  type TestCertificate,
} from '../../identity/mtls/test-certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { policyOf, ruleFor } from '../support/policy-templates.ts'
import { sharedFolder } from '../../support/temporary-folder.ts'

// Browsers add client certificates to the requests of any page. `fetch(url, {method: 'POST', mode: 'no-cors',
// credentials: 'include'})` needs no permission of the gateway.

type Headers = Readonly<Record<string, string>>

interface BrowserRequest {
  readonly method: 'GET' | 'POST'
  readonly target: string
  readonly headers?: Headers
  readonly body?: string
}

const alice = 'spiffe://cluster.example/alice'
const crossSite: Headers = {
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'no-cors',
  'sec-fetch-dest': 'empty',
}
const evil: Headers = { ...crossSite, origin: 'https://evil.example' }
const json: Headers = { 'content-type': 'application/json' }
const refused = { kind: 'PermissionDenied', says: 'with a credential that browsers add' } as const

const drop: BrowserRequest = { method: 'POST', target: '/v1/table/free$t/drop' }
const cascade: BrowserRequest = {
  method: 'POST',
  target: '/v1/namespace/free$n/drop',
  body: '{"behavior":"Cascade"}',
}
const rows: BrowserRequest = {
  method: 'POST',
  target: '/v1/table/free$t/delete',
  body: '{"predicate":"true"}',
}
const list: BrowserRequest = { method: 'GET', target: '/v1/namespace/free/list' }

describe.skipIf(!hasOpenssl())('with a client certificate (skipped without openssl)', () => {
  const folder = sharedFolder()
  let authority: TestAuthority
  let certificate: TestCertificate
  let upstream: RecordingUpstream
  let gateway: TestedGateway
  let browser: Pool

  beforeAll(async () => {
    authority = await makeAuthority(folder, 'own')
    await authority.issue('server', 'IP:127.0.0.1', { usage: 'serverAuth' })
    certificate = await authority.issue('alice', `URI:${alice}`, { usage: 'clientAuth' })
    upstream = await startRecordingUpstream()
    gateway = await openGateway(upstream.url, setup())
    browser = openBrowser(certificate)
  })
  beforeEach(() => void upstream.requests.splice(0))
  afterAll(async () => {
    await browser.destroy()
    await gateway.close()
    await upstream.close()
  })

  function setup(): GatewaySetup {
    return {
      policies: [policyOf([], [ruleFor(['dev', `mesh:${alice}`])])],
      settings: {
        listen: {
          tls: {
            certFile: join(folder, 'server.pem'),
            keyFile: join(folder, 'server.key'),
            clientAuth: 'optional',
            clientCaFile: authority.certFile,
          },
        },
        crossSite: { allowedOrigins: ['https://console.example'] },
        identity: { clientCertificates: { name: 'mesh' } },
      },
    }
  }

  function openBrowser(client?: TestCertificate): Pool {
    const own = client && { cert: client.cert, key: client.key }
    return new Pool(gateway.url, { connect: { ca: authority.cert, ...own } })
  }

  async function send(
    { method, target, headers = {}, body }: BrowserRequest,
    from: Pool = browser,
  ): Promise<TestResponse> {
    const response = await from.request({
      method,
      path: target,
      headers,
      ...(body !== undefined && { body }),
    })
    return createTestResponse(
      response.statusCode,
      response.headers,
      Buffer.from(await response.body.arrayBuffer()),
    )
  }

  const own = (headers: Headers = {}): Headers => ({ origin: new URL(gateway.url).origin, ...headers })

  it.each<[string, BrowserRequest, Headers]>([
    ['drops a table without a body', drop, evil],
    ['drops a table, with Fetch Metadata only', drop, crossSite],
    ['drops a table, in a browser without Fetch Metadata', drop, { origin: 'https://evil.example' }],
    ['of the same site', drop, { ...evil, 'sec-fetch-site': 'same-site' }],
    ['with an unknown relation', drop, { ...crossSite, 'sec-fetch-site': 'Same-Origin' }],
    ['in a sandboxed frame', drop, { origin: 'null' }],
    ['on another port', drop, { origin: 'https://127.0.0.1:1' }],
    ['that only begins like the host', drop, { origin: 'https://127.0.0.1.evil.example' }],
    ['that claims to be the same, from another host', drop, { ...evil, 'sec-fetch-site': 'same-origin' }],
    ['drops a namespace by a blob without a type', cascade, evil],
    ['deletes rows as JSON', rows, { ...evil, ...json }],
    ['overwrites rows', { ...drop, target: '/v1/table/free$t/insert?mode=overwrite', body: 'x' }, evil],
    ['reads', list, crossSite],
    [
      'links to the catalog',
      list,
      { ...crossSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    ],
  ])('a page of another site that %s gets 403', async (_label, request, headers) => {
    expectError(await send({ ...request, headers }), refused)
    expect(upstream.requests).toEqual([])
  })

  it('a page of the same host by http gets 403', async () => {
    const origin = new URL(gateway.url).origin.replace('https:', 'http:')
    expectError(await send({ ...drop, headers: { origin } }), refused)
  })

  it('is in the audit log with caller and origin, and counted by its reason', async () => {
    const before = await countRefusals(gateway, 'cross_site')
    await send({ ...drop, headers: evil })
    expect(await countRefusals(gateway, 'cross_site')).toBe(before + 1)
    await eventually(async () => {
      const records: AuditRecord[] = []
      for await (const record of readAuditLog(gateway.auditFolder)) records.push(record)
      // Others of the same browser follow as one record, at the end of the minute.
      expect(records.filter(({ kind }) => kind === 'refusal')).toMatchObject([
        {
          status: 403,
          reason: 'cross_site',
          operation: 'DropTable',
          id: ['free', 't'],
          principal: { name: `mesh:${alice}` },
          details: { site: 'cross-site', origin: 'https://evil.example' },
        },
      ])
    })
  })

  it.each<[string, BrowserRequest, () => Headers]>([
    ['a page of the gateway', rows, () => own({ ...json, 'sec-fetch-site': 'same-origin' })],
    ['a page of the gateway in an older browser', drop, () => own()],
    ['a request that no page has sent', drop, () => ({ 'sec-fetch-site': 'none' })],
    ['a client that is no browser', cascade, () => ({})],
    ['fetch of Node.js', rows, () => ({ 'sec-fetch-mode': 'cors' })],
    ['a page of an allowed origin', drop, () => ({ ...crossSite, origin: 'https://console.example' })],
  ])('%s is served', async (_label, request, headers) => {
    expect(await send({ ...request, headers: headers() })).toMatchObject({ status: 200 })
    expect(upstream.requests).toHaveLength(1)
  })

  it.each([
    ['JSON', rows],
    ['Arrow', { ...drop, target: '/v1/table/free$t/insert', body: 'x' }],
  ])('%s without a content-type is refused from a page of the gateway', async (_label, request) => {
    const headers = own({ 'sec-fetch-site': 'same-origin' })
    expectError(await send({ ...request, headers }), { kind: 'InvalidInput', says: 'no content-type' })
    expect(upstream.requests).toEqual([])
  })

  it('an API key is served, because no browser adds it', async () => {
    const other = openBrowser()
    const headers = { ...evil, 'x-api-key': gateway.key('dev') }
    expect(await send({ ...cascade, headers }, other)).toMatchObject({ status: 200 })
    await other.destroy()
  })
})

it('a page of another site does not act as an anonymous caller, whose address the browser adds', async () => {
  const { gateway, upstream } = await startGatewayAndUpstream({
    policies: [policyOf([], [ruleFor([], ['all'], { subjects: { anonymous: true } })])],
    settings: { identity: { anonymous: true } },
  })
  const { target } = drop
  expect(await gateway.post(target, { as: null })).toMatchObject({ status: 200 })
  upstream.requests.splice(0)
  expectError(await gateway.post(target, { as: null, headers: evil }), refused)
  expect(upstream.requests).toEqual([])
})

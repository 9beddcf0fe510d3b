import { X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { chartFolder } from '../helm/chart.ts'
import { helm, helms } from '../helm/helm-programs.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'

const namespaceSelector = { matchLabels: { kind: 'team' } }

/** The values that a cluster without controllers can install: no Job would end. */
const values = {
  check: { enabled: false },
  policies: {
    kubernetes: {
      enabled: true,
      webhook: { enabled: true, namespaceSelector, clientCa: { existingSecret: 'api-server-ca' } },
    },
  },
}

interface Installed {
  readonly secret: Readonly<Record<string, string>>
  readonly webhook: {
    readonly clientConfig: { readonly caBundle: string; readonly service: object }
    readonly failurePolicy: string
    readonly namespaceSelector: object
  }
}

function parseCertificate(data = ''): X509Certificate {
  return new X509Certificate(Buffer.from(data, 'base64'))
}

describe.skipIf(helms.length === 0)('the webhook of the chart', () => {
  let server: ApiServer

  beforeAll(async () => {
    server = await startApiServer()
    await server.client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'catalog' } })
  }, 180_000)
  afterAll(() => server?.close())

  async function install(replicaCount: number): Promise<Installed> {
    const file = join(server.folder, 'values.yaml')
    const pageTokens = { existingSecret: 'page-tokens' }
    await writeFile(file, stringify({ ...values, replicaCount, pageTokens }))
    const words = ['--namespace', 'catalog', '--kubeconfig', server.kubeconfig, '--values', file]
    await helm(['upgrade', '--install', 'demo', chartFolder, ...words])
    const { data } = await server.client.get<{ data: Installed['secret'] }>(
      '/api/v1/namespaces/catalog/secrets/demo-catalog-gateway-webhook',
    )
    const { webhooks } = await server.client.get<{ webhooks: readonly [Installed['webhook']] }>(
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/catalog-demo-catalog-gateway',
    )
    return { secret: data, webhook: webhooks[0] }
  }

  it('is registered with a certificate for its Service, which upgrades keep', async () => {
    const { secret, webhook } = await install(1)
    const [certificate, authority] = [
      parseCertificate(secret['tls.crt']),
      parseCertificate(webhook.clientConfig.caBundle),
    ]
    expect(certificate.checkHost('demo-catalog-gateway-webhook.catalog.svc')).toBeDefined()
    expect(certificate.verify(authority.publicKey)).toBe(true)
    expect(webhook).toMatchObject({
      clientConfig: { service: { name: 'demo-catalog-gateway-webhook', namespace: 'catalog', port: 443 } },
      failurePolicy: 'Ignore',
      namespaceSelector,
    })
    expect(await install(2)).toEqual({ secret, webhook })
  })
})

import { readFile, writeFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { projectFolder } from '../e2e/built-program.ts'
import { makeAuthority, type TestAuthority } from '../identity/mtls/test-certificates.ts'
import { servingGateway } from '../observability/serving-gateway.ts'
import { freePort } from '../support/free-port.ts'
import type { KubernetesObject } from './support/api-client.ts'
import { startApiServer, type ApiServer } from './support/start-api-server.ts'
import { eventually } from '../support/eventually.ts'

const apiVersion = 'catalog-gateway.dev/v1'

function policy(name: string, rule: object, namespace = ['prod', 'sales']): KubernetesObject {
  const rules = [
    { id: 'read', effect: 'allow', subjects: { groups: ['analysts'] }, operations: ['read'], ...rule },
  ]
  return { apiVersion, kind: 'AccessPolicy', metadata: { name, namespace: 'team-a' }, namespace, rules }
}

describe('the webhook of a gateway, asked by an API server', () => {
  let folder = ''
  let port = 0
  let authority: TestAuthority
  let server: ApiServer

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'webhook-'))
    port = await freePort()
    authority = await makeAuthority(folder, 'authority')
    const client = await authority.issue('api-server', 'DNS:api-server')
    const credentials = { 'client-certificate': client.certFile, 'client-key': client.keyFile }
    const kubeConfigFile = join(folder, 'webhooks.kubeconfig')
    await writeFile(
      kubeConfigFile,
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        users: [{ name: `127.0.0.1:${port}`, user: credentials }],
      }),
    )
    const admission = join(folder, 'admission.yaml')
    const configured = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'WebhookAdmissionConfiguration' }
    await writeFile(
      admission,
      stringify({
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'AdmissionConfiguration',
        plugins: [{ name: 'ValidatingAdmissionWebhook', configuration: { ...configured, kubeConfigFile } }],
      }),
    )
    server = await startApiServer({ flags: [`--admission-control-config-file=${admission}`] })
    const definition = join(projectFolder, 'helm', 'catalog-gateway', 'files', 'accesspolicies.yaml')
    await server.client.apply(parse(await readFile(definition, 'utf8')) as KubernetesObject)
    await server.client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } })
    await server.client.apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'accesspolicies' },
      webhooks: [
        {
          name: 'accesspolicies.catalog-gateway.dev',
          clientConfig: {
            url: `https://127.0.0.1:${port}/`,
            caBundle: Buffer.from(authority.cert).toString('base64'),
          },
          rules: [
            {
              apiGroups: ['catalog-gateway.dev'],
              apiVersions: ['v1'],
              operations: ['CREATE', 'UPDATE'],
              resources: ['accesspolicies'],
            },
          ],
          failurePolicy: 'Fail',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 5,
        },
      ],
    })
  })
  afterAll(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('refuses resources that the gateway would refuse, and admits others', async () => {
    const { certFile, keyFile } = await authority.issue('webhook', 'IP:127.0.0.1')
    const tokenFile = join(folder, 'token')
    await writeFile(tokenFile, server.adminToken)
    const { metadata } = await server.client.get('/api/v1/namespaces/team-a')
    const delegation = {
      name: 'team-a',
      uid: metadata['uid'],
      catalogNamespaces: [['prod', 'sales']],
      subjects: { groups: ['analysts'] },
    }
    const kubernetes = {
      apiServer: server.url,
      caFile: server.caFile,
      tokenFile,
      namespaces: [delegation],
      webhook: { port, certFile, keyFile, clientCaFile: authority.certFile },
    }
    // The API server reaches no webhook, and its configuration does not admit resources without it.
    await eventually(() =>
      expect(server.client.apply(policy('sales', {}))).rejects.toThrow('failed calling webhook'),
    )
    const gateway = await servingGateway({ policies: { folder: 'policies', kubernetes } })
    await eventually(() => server.client.apply(policy('sales', {})))
    await expect(server.client.apply(policy('typo', { when: 'client.adress == "a"' }))).rejects.toThrow(
      /denied the request: rules\[0\]\.when/,
    )
    await expect(server.client.apply(policy('beyond', {}, ['prod', 'finance']))).rejects.toThrow(
      /denied the request: namespace: /,
    )
    await expect(server.client.apply(policy('sales', { subjects: { users: ['eve'] } }))).rejects.toThrow(
      /denied the request: rules\[0\]\.subjects/,
    )
    // Without gateways nothing is admitted again, but what is stored can be read and deleted, and a gateway starts with it.
    await gateway.stop()
    await expect(server.client.apply(policy('sales', { when: 'true' }))).rejects.toThrow(
      'failed calling webhook',
    )
    await servingGateway({ policies: { folder: 'policies', kubernetes } })
    await eventually(() => server.client.apply(policy('sales', { when: 'true' })))
    await server.client.delete(`/apis/${apiVersion}/namespaces/team-a/accesspolicies/sales`)
  })
})

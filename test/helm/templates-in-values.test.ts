import { expect, it } from 'vitest'
import { render, valueWords, type Manifest } from './chart.ts'
import { helms } from './helm-programs.ts'

/** Values with RELEASE in each name that may have a template. */
const gateway = `
imagePullSecrets: [{ name: RELEASE-images }]
apiKeys: { existingSecret: RELEASE-keys }
pageTokens: { existingSecret: RELEASE-page-tokens }
existingSecrets: [RELEASE-tls]
policies: { existingConfigMaps: [RELEASE-policies] }
ingress:
  enabled: true
  className: RELEASE-ingress
  hosts: [RELEASE.example.com]
  tls: [{ hosts: [RELEASE.example.com], secretName: RELEASE-tls }]
httpRoute:
  enabled: true
  parentRefs: [{ name: RELEASE-gateway }]
  hostnames: [RELEASE.example.com]
serviceAccount: { name: RELEASE-account }
priorityClassName: RELEASE-priority
initContainers: [{ name: init, image: 'images.example/init:1', args: ['RELEASE-init'] }]
extraContainers: [{ name: sidecar, image: 'images.example/sidecar:1', args: ['RELEASE-sidecar'] }]
extraEnv: [{ name: ZONE, value: 'RELEASE-zone' }]
extraEnvFrom: [{ secretRef: { name: RELEASE-variables } }]
extraVolumes: [{ name: extra, configMap: { name: RELEASE-extra } }]
extraVolumeMounts: [{ name: extra, mountPath: /etc/RELEASE }]
extraObjects: [{ apiVersion: v1, kind: ConfigMap, metadata: { name: RELEASE-object, labels: {} } }]
tests:
  apiKey: { existingSecret: RELEASE-test-key }
  caCertificate: { existingSecret: RELEASE-ca }
`
const catalog = `
catalog:
  accessToken: { existingSecret: RELEASE-token }
  postgres: { existingSecret: RELEASE-postgres }
  persistence: { existingClaim: RELEASE-claim }
  serviceAccount: { name: RELEASE-catalog-account }
  priorityClassName: RELEASE-catalog-priority
  initContainers: [{ name: init, image: 'images.example/init:1', args: ['RELEASE-catalog-init'] }]
  extraContainers: [{ name: sidecar, image: 'images.example/sidecar:1', args: ['RELEASE-catalog-sidecar'] }]
  extraEnv: [{ name: ZONE, value: 'RELEASE-catalog-zone' }]
  extraEnvFrom: [{ secretRef: { name: RELEASE-catalog-variables } }]
  extraVolumes: [{ name: extra, configMap: { name: RELEASE-catalog-extra } }]
  extraVolumeMounts: [{ name: extra, mountPath: /etc/RELEASE-catalog }]
`
const config = 'config: { limits: { maxConnections: 100 } }'

async function renderWith(name: string): Promise<readonly Manifest[]> {
  const quoted = `${config}${gateway}${catalog}`.replaceAll(/'?(?:\/etc\/)?RELEASE[a-z.-]*'?/g, (word) => {
    return `'${word.replaceAll("'", '').replace('RELEASE', name)}'`
  })
  return render(await valueWords(quoted), { release: 'sales' })
}

it.skipIf(helms.length === 0)('templates in names render as the names that they stand for', async () => {
  const [plain, composed] = [await renderWith('sales'), await renderWith('{{ .Release.Name }}')]
  expect(composed).toEqual(plain)
  const text = JSON.stringify(plain)
  for (const [word] of `${gateway}${catalog}`.matchAll(/RELEASE[a-z.-]*/g)) {
    expect(text).toContain(word.replace('RELEASE', 'sales'))
  }
})

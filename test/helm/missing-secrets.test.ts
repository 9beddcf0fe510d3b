import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import { renderInCluster } from './api-server.ts'
import { helms } from './helm-programs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const present = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'gateway-keys' },
    data: { pepper: 'eA==', 'keys.yaml': 'eA==' },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'without-keys' }, data: {} },
]

const valid = {
  apiKeys: { existingSecret: 'gateway-keys' },
  policies: { inline: { 'readers.yaml': 'apiVersion: catalog-gateway/v1' } },
}

/** Renders as an installation does, which looks up objects of the cluster. Rejects with the output of helm. */
async function install(values: object): Promise<void> {
  const file = join(await temporaryFolder(), 'values.yaml')
  await writeFile(file, stringify(values))
  await renderInCluster(present, ['--values', file])
}

it.skipIf(helms.length === 0)('an installation with existing Secrets is accepted', async () => {
  await install(valid)
  await install({ ...valid, extraEnvFrom: [{ secretRef: { name: 'gateway-kyes', optional: true } }] })
})

it.skipIf(helms.length === 0)(
  'missing Secrets, ConfigMaps, claims and keys are named, all at once',
  async () => {
    const values = {
      ...valid,
      apiKeys: { existingSecret: 'gateway-kyes' },
      pageTokens: { existingSecret: '{{ .Release.Name }}-tokens' },
      existingSecrets: ['without-keys', 'sinks'],
      policies: { ...valid.policies, existingConfigMaps: ['sales'] },
      catalog: {
        accessToken: { existingSecret: 'without-keys' },
        persistence: { existingClaim: 'tables' },
        extraEnvFrom: [{ secretRef: { name: 'store' } }, { configMapRef: { name: 'regions' } }],
        extraVolumes: [{ name: 'v', configMap: { name: 'authorities' } }],
      },
      extraEnv: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'without-keys', key: 'a' } } }],
      extraVolumes: [{ name: 'v', secret: { secretName: 'volume' } }],
      tests: { apiKey: { existingSecret: 'test-key' } },
    }
    const messages = [
      'apiKeys.existingSecret names the Secret gateway-kyes, which does not exist in the Kubernetes namespace default',
      'pageTokens.existingSecret names the Secret release-tokens, which does not exist',
      'existingSecrets names the Secret sinks, which does not exist',
      'policies.existingConfigMaps names the ConfigMap sales, which does not exist',
      'catalog.accessToken.existingSecret names the Secret without-keys, which has no key token',
      'catalog.persistence.existingClaim names the PersistentVolumeClaim tables, which does not exist',
      'catalog.extraEnvFrom names the Secret store, which does not exist',
      'catalog.extraEnvFrom names the ConfigMap regions, which does not exist',
      'catalog.extraVolumes names the ConfigMap authorities, which does not exist',
      'extraEnv names the Secret without-keys, which has no key a',
      'extraVolumes names the Secret volume, which does not exist',
      'tests.apiKey.existingSecret names the Secret test-key, which does not exist',
    ]
    const { stderr } = await install(values).then(
      () => ({ stderr: '' }),
      (error: { readonly stderr: string }) => error,
    )
    for (const message of messages) expect(stderr).toContain(message)
    expect(stderr).not.toContain('without-keys, which does not exist')
    await install({ ...values, check: { enabled: false } })
  },
)

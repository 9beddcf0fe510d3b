import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { formatPolicies, type WrittenPolicy } from '../../test/policy/policy-builder.ts'
import { audience, callerName, issuer, type Callers } from '../callers.ts'

/** What the callers of the bench may do. */
const usualPolicies: readonly WrittenPolicy[] = [
  { name: 'root', namespace: [], onDeny: 403, rules: [] },
  {
    name: 'bench',
    namespace: ['bench'],
    onDeny: 403,
    rules: [
      {
        id: 'callers',
        effect: 'allow',
        subjects: { users: [callerName, `corp:${callerName}`] },
        operations: ['read', 'create', 'write', 'commit'],
      },
    ],
  },
]

interface SettingsSetup {
  readonly folder: string
  readonly upstreamPort: number
  readonly callers: Callers
}

/** Writes policies, and settings with them, with an audit log, and with `more`; returns the file of the settings. */
export async function writeGatewaySettings(
  { folder, upstreamPort, callers }: SettingsSetup,
  more: object,
  policies: readonly WrittenPolicy[] = usualPolicies,
): Promise<string> {
  await mkdir(join(folder, 'policies'))
  await writeFile(join(folder, 'policies', 'policies.yaml'), formatPolicies(policies))
  const file = join(folder, 'gateway.yaml')
  const settings = {
    upstream: { url: `http://127.0.0.1:${upstreamPort}` },
    identity: {
      apiKeys: { store: callers.storeFile, pepperFile: callers.pepperFile },
      issuers: [
        { name: 'corp', issuer, audience, algorithms: ['RS256'], jwks: { file: callers.keySetFile } },
      ],
    },
    policies: { folder: 'policies' },
    audit: { folder: 'audit' },
    ...more,
  }
  await writeFile(file, stringify(settings))
  return file
}

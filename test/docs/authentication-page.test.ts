import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { TokenIssuerInput } from '../../src/config/token-issuer-settings.ts'
import { kubernetesSchema } from '../../src/config/identity-settings.ts'
import { readServiceAccount } from '../../src/identity/jwt/service-account.ts'
import { projectFolder } from '../e2e/built-program.ts'
import { makeSigningKey, signToken } from '../identity/jwt/token-issuer.ts'
import { authenticateBearer, openAuthenticator } from '../identity/test-authenticator.ts'
import { listCodeBlocks } from '../support/code-blocks.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface IdentitySettings {
  readonly issuers?: [TokenIssuerInput]
  readonly kubernetes?: object
}

const page = await readFile(join(projectFolder, 'docs/authentication.md'), 'utf8')
const key = await makeSigningKey('first')

/** Settings, token and principals of the page, in their order. */
const examples = page
  .split('```yaml settings\n')
  .slice(1)
  .map((part) => {
    const { identity } = parse(part.slice(0, part.indexOf('```'))) as { identity: IdentitySettings }
    const claims = JSON.parse(listCodeBlocks(part, 'json token')[0] ?? '') as Record<string, unknown>
    const [, name = '', groups = ''] =
      /^Principal `([^`]+)`, (?:groups (.*?)|no groups)\.\s/ms.exec(part) ?? []
    const source = name.slice(0, name.indexOf(':'))
    return {
      source,
      identity,
      claims,
      name,
      groups: [...groups.matchAll(/`([^`]+)`/g)].map(([, group]) => group),
    }
  })

function find(source: string): (typeof examples)[number] {
  const found = examples.find((example) => example.source === source)
  if (found === undefined) throw new Error(`The page has no issuer ${source}`)
  return found
}

/** Trusts the key of this test instead of the keys of the provider. */
async function trustLocalKey(issuer: TokenIssuerInput): Promise<TokenIssuerInput> {
  const file = join(await temporaryFolder(), 'jwks.json')
  await writeFile(file, JSON.stringify({ keys: [key.publicKey] }))
  return { ...issuer, jwks: { file } }
}

const ofIssuers = examples.flatMap(({ identity: { issuers }, ...example }) =>
  issuers === undefined ? [] : [{ ...example, issuer: issuers[0] }],
)

describe('docs/authentication.md', () => {
  it('has an example of each kind of provider', () => {
    const sources = ['corp', 'corp', 'entra', 'okta', 'google', 'github', 'cluster', 'other']
    expect(examples.map(({ source }) => source)).toEqual(sources)
  })

  it.each(ofIssuers)('the token is that of $name', async ({ issuer, claims, name, groups }) => {
    const authenticator = await openAuthenticator({ issuers: [await trustLocalKey(issuer)] })
    const principal = await authenticateBearer(authenticator, await signToken(key, claims))
    expect(principal).toMatchObject({ name, groups: new Set(groups) })
  })

  it('the token of a service account is for the audience and of the default issuer', () => {
    const { identity, claims, name, groups } = find('cluster')
    const settings = kubernetesSchema.parse(identity.kubernetes)
    expect(claims).toMatchObject({ iss: settings.issuer, aud: settings.audience })
    const caller = readServiceAccount(claims)
    expect(`${settings.name}:${caller.subject}`).toBe(name)
    expect(caller.groups.map((group) => `${settings.name}:${group}`)).toEqual(groups)
  })
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { redactionSchema } from '../../../src/config/audit-settings.ts'
import type { GatewaySetup, TestedGateway } from '../../gateway/support/open-gateway.ts'
import { startGatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import { claimsWith, makeIssuerKey, signed } from '../../identity/jwt/forged-tokens.ts'
import { formatPolicies, type WrittenRule } from '../../policy/policy-builder.ts'
import { runCommand } from '../../support/run-command.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const signer = makeIssuerKey('ES256', 'one')

const allow = (id: string, group: string, operation: string): WrittenRule => ({
  id,
  effect: 'allow',
  subjects: { groups: [group] },
  operations: [operation],
})

const policiesWith = (...rules: readonly WrittenRule[]) =>
  [{ name: 'p', namespace: [], onDeny: 403, rules }] as const

const present = policiesWith(
  allow('writers', 'corp:writers', 'DropTable'),
  allow('owners', 'corp:owners', 'DropTable'),
)

/** A gateway that trusts the issuer, whose tokens have the groups in the claim `groups`. */
function setup(maxRecordedGroups: number): GatewaySetup {
  return {
    policies: present,
    async adjust(settings, folder) {
      const file = join(folder, 'jwks.json')
      await writeFile(file, JSON.stringify({ keys: [signer.published] }))
      const issuer = {
        name: 'corp',
        issuer: 'https://corp.example',
        audience: ['catalog'],
        jwks: { file },
        subjectClaim: 'sub',
        groupsClaim: 'groups',
        algorithms: ['ES256' as const],
      }
      return {
        ...settings,
        identity: { ...settings.identity, issuers: [issuer] },
        audit: { ...settings.audit, redaction: redactionSchema.parse({ maxRecordedGroups }) },
      }
    },
  }
}

/** Drops a table as a member of these groups, and is refused in another group. */
async function record(gateway: TestedGateway, groups: readonly string[]): Promise<void> {
  const drop = async (...names: readonly string[]): Promise<number> => {
    const authorization = `Bearer ${signed(signer, claimsWith({ groups: names }))}`
    const { status } = await gateway.post('/v1/table/a$t/drop', { as: null, headers: { authorization } })
    return status
  }
  expect(await drop(...groups)).toBe(200)
  expect(await drop('readers')).toBe(403)
}

interface Report {
  readonly unchanged: number
  readonly changed: readonly { readonly after: { readonly allowed: boolean } }[]
  readonly undecided: readonly { readonly missing: readonly string[] }[]
}

/** Replays the log of a gateway that records so many groups, after a change of a member of `groups` and a denial. */
async function replay(
  maxRecordedGroups: number,
  groups: readonly string[],
  candidate: readonly WrittenRule[],
  isCurrentKnown: boolean,
) {
  const { gateway } = await startGatewayAndUpstream(setup(maxRecordedGroups))
  await record(gateway, groups)
  await gateway.stop()
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'p.yaml'), formatPolicies(policiesWith(...candidate)))
  const command = ['policy', 'replay', '--audit', gateway.auditFolder, '--candidate', folder]
  if (isCurrentKnown) command.push('--current', gateway.policyFolder)
  const [people, json] = [await runCommand(command), await runCommand([...command, '--json'])]
  expect(people).toMatchObject({ status: 0, messages: '' })
  const { unchanged, changed, undecided } = JSON.parse(json.output) as Report
  return {
    unchanged,
    changed: changed.map(({ after }) => (after.allowed ? 'allowed' : 'denied')),
    undecided: undecided.flatMap(({ missing }) => missing),
    summary: people.output.split('\n').slice(-2, -1),
  }
}

const drop = (group: string): WrittenRule => allow('candidate', group, 'DropTable')
const groupsMissing = ['the groups of the caller']
const allMissing = ['all groups of the caller']

it('decides every call with recorded groups, also for groups that the policies of the time did not name', async () => {
  const replayed = await replay(5, ['writers'], [drop('corp:readers')], false)
  expect(replayed).toMatchObject({ changed: ['denied', 'allowed'], undecided: [] })
  expect(replayed.summary).toEqual(['2 calls: 0 unchanged, 2 changed, 0 undecided'])
})

it('infers the group of an allowed call, and leaves the denial undecided, if groups are not recorded', async () => {
  const replayed = await replay(0, ['writers'], [drop('corp:writers')], true)
  expect(replayed).toMatchObject({ unchanged: 1, undecided: groupsMissing })
})

it('leaves all undecided if groups are neither recorded nor can be inferred', async () => {
  const replayed = await replay(0, ['writers'], [drop('corp:writers')], false)
  expect(replayed).toMatchObject({
    unchanged: 0,
    changed: [],
    undecided: [...groupsMissing, ...groupsMissing],
  })
  expect(replayed.summary.at(-1)).toBe('2 calls: 0 unchanged, 0 changed, 2 undecided')
})

it.each([
  ['a recorded one', 'corp:admins', ['denied'], []],
  ['one that is inferred', 'corp:writers', ['denied'], []],
  ['one that may be among the omitted', 'corp:zoo', [], allMissing],
])(
  'decides by a list of groups that was cut only if the rule names %s',
  async (_, group, changed, undecided) => {
    const denied = { ...drop(group), id: 'no', effect: 'deny' } as const
    const everyone = { ...drop(''), id: 'all', subjects: { any: true } } as const
    const replayed = await replay(1, ['admins', 'writers', 'zoo'], [everyone, denied], true)
    expect(replayed).toMatchObject({ changed: expect.arrayContaining(changed), undecided })
  },
)

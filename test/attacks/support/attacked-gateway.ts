import { expect } from 'vitest'
import { expectError, type ExpectedError } from '../../gateway/support/expect-error.ts'
import type { TestResponse } from '../../gateway/support/test-response.ts'
import { allowEverything, type GatewaySetup, type TestedGateway } from '../../gateway/support/open-gateway.ts'
import type { ReceivedRequest } from '../../gateway/support/recording-upstream.ts'
import { sendWritten, type WrittenRequest } from '../../gateway/support/raw-request.ts'
import { useSharedGateway, type GatewayAndUpstream } from '../../gateway/support/running-gateway.ts'
import type { WrittenPolicy } from '../../policy/policy-builder.ts'
import { policyOf, ruleFor } from './policy-templates.ts'

/** A request as written by the attacker, never normalized. */
interface Attack {
  /** Default POST. */
  readonly method?: string
  /** Default: a table that the caller may describe. */
  readonly target?: string
  /** Default `writer`, null for no credentials. */
  readonly as?: string | null
  /** Additional header lines. */
  readonly lines?: readonly string[]
  /** An object is sent as JSON; a content-length is added unless `lines` frame the body. */
  readonly body?: object | string | Buffer
}

/** A gateway with objects that the attackers may and may not access. */
export interface AttackedGateway extends GatewayAndUpstream {
  send(attack: Attack): Promise<TestResponse | undefined>
  /** Expects the error, and no request at the upstream. */
  expectRefused(attack: Attack, expected: ExpectedError): Promise<void>
  /** As `expectRefused`, with a request that is invalid from any caller. */
  expectInvalid(attack: Attack, says: ExpectedError['says']): Promise<void>
  /** As `expectRefused`, with a caller that has no permission. */
  expectDenied(attack: Attack, says: ExpectedError['says']): Promise<void>
  /** Expects success, and exactly one request at the upstream, which is returned. */
  expectForwarded(attack: Attack): Promise<ReceivedRequest>
}

/**
 * `writer` may fill, but not empty, `sandbox`; `clerk` may register tables there; `owner` may do everything there,
 * except to the table `vault` in `sandbox` > `inner`. None of them may access `production`.
 */
const policies: readonly WrittenPolicy[] = [
  allowEverything,
  policyOf(
    ['sandbox'],
    [
      ruleFor(
        ['writer'],
        [
          'read',
          'create',
          'commit',
          'InsertIntoTable',
          'MergeInsertIntoTable',
          'UpdateTable',
          'RenameTable',
          'RegisterTable',
          'DropNamespace',
        ],
      ),
      ruleFor(['clerk'], ['RegisterTable', 'ChooseLocation']),
      ruleFor(['owner']),
    ],
  ),
  policyOf(
    ['sandbox', 'inner'],
    [ruleFor([], ['all'], { effect: 'deny', subjects: { any: true }, tables: ['vault'] })],
  ),
]

/** One gateway for all attacks of a file, by default with the policies above. */
export function attackedGateway(
  setup: Pick<GatewaySetup, 'policies' | 'users' | 'settings' | 'adjust'> = {},
): AttackedGateway {
  const { users = ['writer', 'clerk', 'owner'] } = setup
  const shared = useSharedGateway({
    ...setup,
    users,
    policies: setup.policies ? [allowEverything, ...setup.policies] : policies,
  })
  const send: AttackedGateway['send'] = (attack) =>
    sendWritten(shared.gateway.url, write(attack, shared.gateway))
  const expectRefused: AttackedGateway['expectRefused'] = async (attack, expected) => {
    expectError(await send(attack), expected)
    // Another request shows that nothing is still in progress, and that the gateway works.
    expect(await shared.gateway.post('/v1/table/well/exists')).toMatchObject({ status: 200 })
    expect(shared.upstream.requests.splice(0)).toMatchObject([{ target: '/v1/table/well/exists' }])
  }
  return {
    get gateway() {
      return shared.gateway
    },
    get upstream() {
      return shared.upstream
    },
    send,
    expectRefused,
    expectInvalid: (attack, says) => expectRefused(attack, { kind: 'InvalidInput', says }),
    expectDenied: (attack, says) => expectRefused(attack, { kind: 'PermissionDenied', says }),
    async expectForwarded(attack) {
      expect(await send(attack)).toMatchObject({ status: 200 })
      const [arrival, ...others] = shared.upstream.requests.splice(0)
      expect(others).toEqual([])
      if (arrival === undefined) throw new Error('Nothing reached the upstream.')
      return arrival
    },
  }
}

function write(attack: Attack, gateway: TestedGateway): WrittenRequest {
  const { method = 'POST', target = '/v1/table/sandbox$orders/describe', as = 'writer', lines = [] } = attack
  const isBytes = typeof attack.body === 'string' || Buffer.isBuffer(attack.body)
  const body = Buffer.from(isBytes ? attack.body : JSON.stringify(attack.body ?? ''))
  const hasLength = lines.some((line) => /^(content-length|transfer-encoding)/i.test(line))
  return {
    method,
    target,
    lines: [
      ...(as === null ? [] : [`x-api-key: ${gateway.key(as)}`]),
      ...lines,
      ...(attack.body === undefined || hasLength ? [] : [`content-length: ${body.length}`]),
    ],
    body: attack.body === undefined ? undefined : body,
  }
}

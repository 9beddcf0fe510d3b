import { expect, it } from 'vitest'
import { ofKind, recordsOf } from '../../audit/audit-fixtures.ts'
import { expectError } from '../../gateway/support/expect-error.ts'
import { allowEverything, type GatewaySetup, type TestedGateway } from '../../gateway/support/open-gateway.ts'
import { getHeaderValues } from '../../gateway/support/recording-upstream.ts'
import {
  startGatewayAndUpstream,
  useSharedGateway,
  type GatewayAndUpstream,
} from '../../gateway/support/running-gateway.ts'
import type { TestResponse } from '../../gateway/support/test-response.ts'
import { sendWritten } from '../../gateway/support/raw-request.ts'
import { limitsSchema, type ListenSettings } from '../../../src/config/listen-settings.ts'
import { eventually } from '../../support/eventually.ts'

// A caller must not choose the address that policies, limits and records see. The grammar of the header is in
// gateway/routing/forwarded-for.test.ts.
type Proxies = Pick<ListenSettings, 'trustedProxies'>

/** Only clients of 203.0.113.0/24 may do anything. */
function behind(proxies: Proxies): GatewaySetup {
  const rules = allowEverything.rules.map((rule) => ({
    ...rule,
    when: 'client.address.inCidr("203.0.113.0/24")',
  }))
  return {
    policies: [{ ...allowEverything, rules }],
    settings: { listen: proxies },
  }
}

const local = ['127.0.0.0/8', '10.0.0.0/8', 'fd00::/8']

async function recordedAddresses({ auditFolder }: TestedGateway, response: TestResponse | undefined) {
  const id = response?.headers['x-request-id']
  if (response?.status === 400) return undefined
  return eventually(async () => {
    const records = await recordsOf(auditFolder)
    const all = [...ofKind(records, 'intent'), ...ofKind(records, 'refusal')]
    const own = all.find(({ request }) => request === id)
    if (own === undefined) throw new Error('there is no record yet')
    return { client: own.client, peer: own.peer }
  })
}

async function startBehind(proxies: Proxies) {
  return createSender(await startGatewayAndUpstream(behind(proxies)))
}

function createSender({ gateway, upstream }: GatewayAndUpstream) {
  /** Returns the response, and the recorded addresses. */
  const send = async (...lines: string[]) => {
    const request = {
      method: 'POST',
      target: '/v1/table/a/drop',
      lines: [`x-api-key: ${gateway.key('dev')}`, 'content-length: 0', ...lines],
      body: undefined,
    }
    const response = await sendWritten(gateway.url, request)
    return { response, status: response?.status, ...(await recordedAddresses(gateway, response)) }
  }
  return { send, upstream }
}

const byList = useSharedGateway(behind({ trustedProxies: local }))

it('ignores what peers say that are not trusted', async () => {
  for (const trustedProxies of [[], ['192.0.2.0/24', '::1/128']]) {
    const { send } = await startBehind({ trustedProxies })
    for (const line of [
      'x-forwarded-for: 203.0.113.7',
      'forwarded: for=203.0.113.7',
      'x-real-ip: 203.0.113.7',
      'x-forwarded-for: nonsense',
      'connection: x-forwarded-for',
    ]) {
      expect(await send(line)).toMatchObject({ status: 403, client: '127.0.0.1', peer: undefined })
    }
    expect(await send('x-forwarded-for: 203.0.113.7', 'x-forwarded-for: 203.0.113.7')).toMatchObject({
      status: 403,
      client: '127.0.0.1',
    })
  }
})

it('x-forwarded-for through a trusted proxy states the last address that is not trusted', async () => {
  const { send, upstream } = createSender(byList)
  const cases: readonly [value: string, status: number, client: string][] = [
    ['203.0.113.7', 200, '203.0.113.7'],
    ['203.0.113.7, 10.1.2.3', 200, '203.0.113.7'],
    ['203.0.113.7, ::ffff:10.1.2.3, fd00::1', 200, '203.0.113.7'],
    // Sent by the client, before the first proxy has added its address.
    ['203.0.113.7, 198.51.100.9', 403, '198.51.100.9'],
    ['203.0.113.7, 10.1.2.3, 198.51.100.9, 10.1.2.3', 403, '198.51.100.9'],
    ['203.0.113.7, _hidden, 10.1.2.3', 403, 'unknown'],
    ['unknown, 203.0.113.7', 200, '203.0.113.7'],
    // All are trusted.
    ['10.9.9.9, 10.1.2.3', 403, '10.9.9.9'],
  ]
  for (const [value, status, client] of cases)
    expect(await send(`x-forwarded-for: ${value}`), value).toMatchObject({
      status,
      client,
      peer: '127.0.0.1',
    })
  expect(await send()).toMatchObject({ status: 403, client: '127.0.0.1', peer: undefined })
  for (const arrival of upstream.requests) expect(getHeaderValues(arrival, 'x-forwarded-for')).toEqual([])
})

it('reads several lines of the header as one list, whose last address is that of the proxy in front', async () => {
  const { send } = createSender(byList)
  const lines = ['x-forwarded-for: 203.0.113.7', 'X-Forwarded-For: 198.51.100.9,']
  expect(await send(...lines)).toMatchObject({ status: 403, client: '198.51.100.9' })
  expect(await send(...lines.toReversed())).toMatchObject({ status: 200, client: '203.0.113.7' })
})

it('reads no other header', async () => {
  const { send } = createSender(byList)
  expect(await send('forwarded: for=203.0.113.7', 'x-forwarded-for: 198.51.100.9')).toMatchObject({
    status: 403,
    client: '198.51.100.9',
  })
  expect(await send('forwarded: for=203.0.113.7')).toMatchObject({ client: '127.0.0.1' })
})

it.each(['nonsense', Array<string>(33).fill('203.0.113.7').join(', ')])(
  'a trusted proxy that sends %s is refused',
  async (list) => {
    const { send, upstream } = createSender(byList)
    const { response } = await send(`x-forwarded-for: ${list}`)
    expectError(response, { kind: 'InvalidInput', says: 'is malformed; expected at most 32 addresses' })
    expect(upstream.requests).toEqual([])
  },
)

it('counts limits by the stated address', async () => {
  const rates = [{ name: 'each', per: 'address', perSecond: 0.001, burst: 1 }]
  const { gateway } = await startGatewayAndUpstream({
    settings: { listen: { trustedProxies: local }, limits: limitsSchema.parse({ rates }) },
  })
  const send = (address: string) =>
    gateway.post('/v1/table/a/exists', { headers: { 'x-forwarded-for': address } })
  expect((await send('203.0.113.7')).status).toBe(200)
  expect((await send('198.51.100.9, 203.0.113.7')).status).toBe(429)
  expect((await send('203.0.113.8')).status).toBe(200)
})

it('a list in Connection cannot remove the header', async () => {
  const { response } = await createSender(byList).send(
    'x-forwarded-for: 203.0.113.7',
    'connection: x-forwarded-for',
  )
  expectError(response, { kind: 'InvalidInput', says: 'the connection header lists "x-forwarded-for"' })
})

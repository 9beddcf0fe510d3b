import { readAuditLog, type StoredRecord } from '../../src/audit/storage/read-audit-log.ts'
import { attack, type Outcome } from './attacker.ts'
import { authorizedIn, type Authorized } from './differences.ts'
import { hostileCall } from './hostile-exchanges.ts'
import { errorsOf, errorsOfLines } from './judged-answers.ts'
import type { RawResponse } from './raw-answers.ts'
import { spawnProcess } from './spawned-process.ts'

/** Many hostile requests to one gateway. */
export interface Campaign {
  readonly upstreamUrl: string
  readonly seed: number
  readonly count: number
}

/** What came of it. */
export interface CampaignResult {
  readonly authorized: Authorized
  /** Everything that is wrong with the answers or with the gateway, each with the bytes that caused it. */
  readonly faults: string[]
  /** How often each status was answered. */
  readonly statuses: Readonly<Record<number, number>>
}

interface GatewayFacts {
  readonly url: string
  readonly auditFolder: string
  readonly key: string
}

const connections = 24

/** Starts a gateway in front of that upstream, attacks it, and closes it. */
export async function runCampaign({ upstreamUrl, seed, count }: Campaign): Promise<CampaignResult> {
  const gateway = await spawnProcess(new URL('attacked-gateway-process.ts', import.meta.url), [upstreamUrl])
  const { url, auditFolder, key } = JSON.parse(gateway.firstLine) as GatewayFacts
  const errors: string[] = []
  const statuses: Record<number, number> = {}
  const responded: { readonly number: number; readonly answer: RawResponse; readonly isHead: boolean }[] = []
  const call = (number: number) => hostileCall(seed, number, key)
  const blame = (number: number, error: string): void => {
    const bytes = Buffer.concat(call(number).parts).toString('latin1').replaceAll(key, 'KEY')
    errors.push(`${error}\n    sent as number ${number}: ${JSON.stringify(bytes).slice(0, 1_500)}`)
  }
  const ended = (number: number, { answers: responses, fault: error }: Outcome): void => {
    if (error !== undefined) blame(number, error)
    const { methods } = call(number)
    for (const [index, response] of responses.entries()) {
      statuses[response.status] = (statuses[response.status] ?? 0) + 1
      const isHead = methods[index] === 'HEAD'
      for (const found of errorsOf(response, isHead)) blame(number, found)
      responded.push({ number, answer: response, isHead })
    }
  }
  try {
    await attack({ url, connections, exchange: call, count, probe: probeWith(key), ended })
  } catch (error) {
    await gateway.end('at once')
    throw error
  }
  const records: StoredRecord[] = []
  for await (const record of readAuditLog(auditFolder)) records.push(record)
  if ((await gateway.end('politely')) !== 0) errors.push('the gateway did not end well')
  errors.push(
    ...gateway.log
      .filter((line) => 'garbage' in line)
      .map((line) => `the gateway printed ${String(line['garbage'])}`),
  )
  const authorized = authorizedIn(gateway.log, records)
  for (const { number, answer: response, isHead } of responded) {
    const lines = authorized.lines.get(response.header('x-request-id') ?? '')
    for (const found of errorsOfLines(response, isHead, lines)) blame(number, found)
  }
  return { authorized, faults: errors, statuses }
}

/** A request that is good. */
function probeWith(key: string): Buffer {
  return Buffer.from(
    `POST /v1/namespace/sandbox/exists HTTP/1.1\r\nhost: gateway.example\r\nx-api-key: ${key}\r\ncontent-length: 0\r\n\r\n`,
  )
}

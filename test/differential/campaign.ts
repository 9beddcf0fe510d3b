import { readAuditLog } from '../../src/audit/storage/read-audit-log.ts'
import type { AuditRecord } from '../../src/audit/records/audit-record.ts'
import { attack, type Outcome } from './attack.ts'
import { indexGatewayRecords, type GatewayRecords } from './gateway-records.ts'
import { createHostileInput } from './hostile-input.ts'
import type { RawResponse } from './raw-responses.ts'
import { findLogErrors, findResponseErrors } from './response-errors.ts'
import { spawnProcess } from './spawned-process.ts'

export interface CampaignOptions {
  readonly upstreamUrl: string
  readonly seed: number
  /** Number of inputs. */
  readonly count: number
}

export interface CampaignResult {
  readonly records: GatewayRecords
  /** Errors of responses and of the gateway, with the bytes that caused them. */
  readonly errors: string[]
  /** Number of responses by status. */
  readonly statuses: Readonly<Record<number, number>>
}

/** Printed by `attacked-gateway-process.ts`. */
interface StartedGateway {
  readonly url: string
  readonly auditFolder: string
  readonly key: string
}

const connections = 24

/** Starts a gateway in front of the upstream, sends it generated hostile inputs, and stops it. */
export async function runCampaign({ upstreamUrl, seed, count }: CampaignOptions): Promise<CampaignResult> {
  const gateway = await spawnProcess(new URL('attacked-gateway-process.ts', import.meta.url), [upstreamUrl])
  const { url, auditFolder, key } = JSON.parse(gateway.firstLine) as StartedGateway
  const errors: string[] = []
  const statuses: Record<number, number> = {}
  const received: { readonly index: number; readonly response: RawResponse; readonly isHead: boolean }[] = []
  const createInput = (index: number) => createHostileInput(seed, index, key)
  const addError = (index: number, error: string): void => {
    const bytes = Buffer.concat(createInput(index).chunks).toString('latin1').replaceAll(key, 'KEY')
    errors.push(`${error}\n    input ${index}: ${JSON.stringify(bytes).slice(0, 1_500)}`)
  }
  const onOutcome = (index: number, { responses, error }: Outcome): void => {
    if (error !== undefined) addError(index, error)
    const { methods } = createInput(index)
    for (const [position, response] of responses.entries()) {
      statuses[response.status] = (statuses[response.status] ?? 0) + 1
      const isHead = methods[position] === 'HEAD'
      for (const found of findResponseErrors(response, isHead)) addError(index, found)
      received.push({ index, response, isHead })
    }
  }
  try {
    await attack({ url, connections, createInput, count, probe: createProbe(key), onOutcome })
  } catch (error) {
    await gateway.kill()
    throw error
  }
  const auditRecords: AuditRecord[] = []
  for await (const record of readAuditLog(auditFolder)) auditRecords.push(record)
  const status = await gateway.stop()
  if (status !== 0) errors.push(`the gateway exited with status ${status}`)
  errors.push(
    ...gateway.log
      .filter((line) => 'unparsed' in line)
      .map((line) => `the gateway printed ${String(line['unparsed'])}`),
  )
  const records = indexGatewayRecords(gateway.log, auditRecords)
  for (const { index, response, isHead } of received) {
    const lines = records.lines.get(response.header('x-request-id') ?? '')
    for (const found of findLogErrors(response, isHead, lines)) addError(index, found)
  }
  return { records, errors, statuses }
}

function createProbe(key: string): Buffer {
  return Buffer.from(
    `POST /v1/namespace/sandbox/exists HTTP/1.1\r\nhost: gateway.example\r\nx-api-key: ${key}\r\ncontent-length: 0\r\n\r\n`,
  )
}

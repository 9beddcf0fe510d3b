import { join } from 'node:path'
import { readLines } from '../../lib/fs/read-lines.ts'
import { listChains, type ChainSegments } from '../storage/segment-names.ts'
import { LogVerifier } from './log-verifier.ts'
import type { VerifyOptions, VerifyReport } from './verify-report.ts'

export type { VerifyReport } from './verify-report.ts'

/**
 * Verifies the hashes, numbering, links and seals of all chains in the folder. Memory grows only with the number of
 * intents without an outcome. A folder without chains is valid. Rejects if the folder cannot be read.
 */
export async function verifyAuditLog(folder: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const verifier = new LogVerifier(options)
  const chains = await listChains(folder)
  for (const [index, chain] of chains.entries()) {
    await verifyChain(folder, chain, index === chains.length - 1, verifier, options)
    if (verifier.problem) break
    verifier.chains += 1
  }
  verifier.finish(chains.at(0)?.segments[0], chains.at(-1)?.segments.at(-1))
  return verifier.report()
}

async function verifyChain(
  folder: string,
  { chain, segments }: ChainSegments,
  isNewest: boolean,
  verifier: LogVerifier,
  { onProgress }: VerifyOptions,
): Promise<void> {
  verifier.beginChain(chain)
  for (const [index, file] of segments.entries()) {
    const isLast = index === segments.length - 1
    let number = 0
    for await (const line of readLines(join(folder, file))) {
      if (line.end === 'file' && isNewest && isLast) {
        verifier.tornTail = { file, bytes: line.bytes.length }
        continue
      }
      number = line.number
      const seq = verifier.nextSeq
      const problem = verifier.addLine(line)
      if (problem === undefined) continue
      verifier.problem = { file, line: line.number, seq, what: problem }
      return
    }
    onProgress?.(file, verifier.records)
    const problem = isLast ? undefined : verifier.endSegment()
    if (problem === undefined) continue
    verifier.problem = { file, line: number, what: problem }
    return
  }
  if (verifier.isChainEmpty) {
    verifier.problem = {
      file: segments[0] ?? chain,
      what: 'the chain has no records: they were removed',
    }
  }
}

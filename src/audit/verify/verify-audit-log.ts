import { listSegments } from '../storage/log-segments.ts'
import { readOwnLines } from '../storage/read-audit-log.ts'
import { LogVerifier } from './log-verifier.ts'
import type { VerifyOptions, VerifyReport } from './verify-report.ts'

export type { VerifyReport } from './verify-report.ts'

/**
 * Verifies the hashes, numbering, times, links and seals of all chains in the folder. Reports every problem and reads on.
 * Memory grows only with the number of intents without an outcome. A folder without chains is valid. Rejects if the folder
 * cannot be read.
 */
export async function verifyAuditLog(folder: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  const verifier = new LogVerifier(options)
  for (const segment of await listSegments(folder)) {
    if (!segment.isForeign) verifier.beginSegment(segment)
    for await (const line of readOwnLines(folder, segment, verifier.addProblem)) verifier.addLine(line)
    options.onProgress?.(segment.file, verifier.records)
  }
  return verifier.finish()
}

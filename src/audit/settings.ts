import { z } from 'zod'
import type { AuditLogOptions } from './log-options.ts'
import { defaultModes, eventModes, operationModes } from './modes.ts'
import { redactionSchema } from './redaction.ts'
import { sinksSchema, withAbsoluteSinkPaths } from './sinks/sink-settings.ts'

const mebibyte = 1024 * 1024
const path = z.string().min(1)
const operationMode = z.enum(operationModes)
const eventMode = z.enum(eventModes)

/** The settings of the audit log, as they stand in the file of the gateway. */
export const auditSchema = z.strictObject({
  folder: path.describe('Where the log lies; for this gateway alone.'),
  sealKeyFile: path
    .optional()
    .describe('The Ed25519 key that signs the log (PKCS #8, PEM); else one is made in the folder.'),
  modes: z
    .strictObject({
      commit: operationMode
        .default(defaultModes.commit)
        .describe('What creates, deletes or restores table versions.'),
      data: operationMode.default(defaultModes.data).describe('What does so by changing rows.'),
      admin: operationMode.default(defaultModes.admin).describe('What changes anything else.'),
      read: operationMode.default(defaultModes.read).describe('What changes nothing.'),
      denial: eventMode.default(defaultModes.denial).describe('What was refused.'),
      reload: eventMode.default(defaultModes.reload).describe('Reloads of policies and keys.'),
    })
    .prefault({})
    .describe(
      'How each class is recorded: strict, intent and outcome are on disk before the answer; durable, the intent is; ' +
        'besteffort, nothing waits; off, not at all.',
    ),
  segmentBytes: z
    .int()
    .min(64 * 1024)
    .max(1024 * mebibyte)
    .default(64 * mebibyte)
    .describe('A file that has reached so many bytes is followed by the next one.'),
  segmentMinutes: z.int().min(1).max(10_080).default(60).describe('Likewise one of that age.'),
  sealRecords: z.int().min(1).max(10_000).default(1_000).describe('So many records share a signature.'),
  sealSeconds: z.int().min(1).max(3_600).default(10).describe('No record waits longer for its signature.'),
  reserveBytes: z
    .int()
    .min(0)
    .max(1024 * mebibyte)
    .default(16 * mebibyte)
    .describe('Disk space that is kept for the outcomes of changes under way; 0 keeps none.'),
  retention: z
    .strictObject({
      days: z.int().min(1).optional().describe('Files whose last record is older are removed.'),
      bytes: z
        .int()
        .min(mebibyte)
        .optional()
        .describe('While the log is larger, its oldest files are removed.'),
    })
    .prefault({})
    .describe('What is removed, and said in the log to be; nothing unless told.'),
  continuity: z
    .enum(['off', 'warn'])
    .optional()
    .describe(
      'Whether versions that never passed this log are flagged: warn, unless there are several workers. Set it to off ' +
        'where several gateways serve the same tables, each with a log of its own. With warn, the catalog is asked for ' +
        'the version of a commit if the response names none.',
    ),
  resolution: z
    .strictObject({
      settleSeconds: z
        .number()
        .min(0.1)
        .max(3_600)
        .default(60)
        .describe('How long a catalog may still work on a request whose answer was lost.'),
      giveUpHours: z
        .int()
        .min(1)
        .max(720)
        .default(72)
        .describe('A catalog that cannot be asked for so long leaves the outcome unknown for good.'),
    })
    .prefault({})
    .describe('How unknown outcomes are resolved.'),
  redaction: redactionSchema.prefault({}).describe('What of a request is not recorded as it was sent.'),
  sinks: sinksSchema.default([]).describe('Where the records go besides the file.'),
  logHeads: z
    .boolean()
    .default(false)
    .describe('Whether each seal is noted in the log of the gateway, so that a cut log shows from there.'),
})

/** The settings of an audit log, with every default filled in. */
export type AuditSettings = z.output<typeof auditSchema>

/** What those settings say to whoever opens the log. */
export function auditOptions(settings: AuditSettings): Omit<AuditLogOptions, 'gateway' | 'software'> {
  const { folder, sealKeyFile, modes, segmentBytes, sealRecords, reserveBytes, retention, redaction } =
    settings
  const { days, bytes } = retention
  return {
    folder,
    sealKeyFile,
    modes,
    segmentBytes,
    segmentMs: settings.segmentMinutes * 60_000,
    sealRecords,
    sealMs: settings.sealSeconds * 1_000,
    reserveBytes,
    redaction,
    retention: {
      ...(days !== undefined && { maximumAgeMs: days * 86_400_000 }),
      ...(bytes !== undefined && { maximumBytes: bytes }),
    },
  }
}

/** The same with every path absolute. */
export function withAbsoluteAuditPaths(
  settings: AuditSettings,
  absolute: (path: string) => string,
): AuditSettings {
  const { folder, sealKeyFile, redaction, sinks } = settings
  const { keyFile } = redaction
  return {
    ...settings,
    folder: absolute(folder),
    ...(sealKeyFile !== undefined && { sealKeyFile: absolute(sealKeyFile) }),
    redaction: { ...redaction, ...(keyFile !== undefined && { keyFile: absolute(keyFile) }) },
    sinks: sinks.map((sink) => withAbsoluteSinkPaths(sink, absolute)),
  }
}

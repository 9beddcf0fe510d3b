import { z } from 'zod'
import { defaultModes, eventModes, operationModes } from './audit-modes.ts'
import { redactionSchema } from './redaction-settings.ts'
import { sinksSchema, resolveSinkPaths } from './audit-sink-settings.ts'

const mebibyte = 1024 * 1024
const path = z.string().min(1)
const operationMode = z.enum(operationModes)
const eventMode = z.enum(eventModes)

export const auditSchema = z.strictObject({
  folder: path.describe('Folder of the audit log; not shared with other gateways.'),
  sealKeyFile: path
    .optional()
    .describe('Ed25519 key that signs the log (PKCS #8, PEM); by default generated in the folder.'),
  modes: z
    .strictObject({
      commit: operationMode
        .default(defaultModes.commit)
        .describe('Operations that create, delete or restore table versions.'),
      data: operationMode
        .default(defaultModes.data)
        .describe('Operations that create table versions by changing rows, or prepare that.'),
      admin: operationMode
        .default(defaultModes.admin)
        .describe('All other operations that change something.'),
      read: operationMode.default(defaultModes.read).describe('Operations that change nothing.'),
      denial: eventMode.default(defaultModes.denial).describe('Denied requests.'),
      reload: eventMode.default(defaultModes.reload).describe('Reloads of policies and keys.'),
    })
    .prefault({})
    .describe(
      'Recording mode of each class. strict: intent and outcome are on disk before the response; durable: the intent is on disk before the change; ' +
        'besteffort: records are written asynchronously; off: no records.',
    ),
  reserveBytes: z
    .int()
    .min(0)
    .max(1024 * mebibyte)
    .default(16 * mebibyte)
    .describe('Disk space reserved for the outcomes of running changes; 0 for none.'),
  retention: z
    .strictObject({
      maxAgeDays: z.int().min(1).optional().describe('Segments whose last record is older are removed.'),
      maxBytes: z
        .int()
        .min(mebibyte)
        .optional()
        .describe('Maximum size of the log; the oldest segments are removed.'),
    })
    .prefault({})
    .describe('Retention of segments. Removals are recorded in the log. By default nothing is removed.'),
  continuity: z
    .enum(['off', 'warn'])
    .default('warn')
    .describe(
      'Whether out-of-band versions (not made through this gateway) are flagged. Set it to off ' +
        'if several gateways with separate logs serve the same tables. With warn, the gateway requests the version of a commit from ' +
        'the catalog if the response has none.',
    ),
  resolution: z
    .strictObject({
      gracePeriodSeconds: z
        .number()
        .min(0.1)
        .max(3_600)
        .default(60)
        .describe('How long a catalog may still process a request whose response was lost.'),
      maxAgeHours: z
        .int()
        .min(1)
        .max(720)
        .default(72)
        .describe('In-doubt changes older than this stay undecided.'),
    })
    .prefault({})
    .describe('Resolution of in-doubt changes.'),
  redaction: redactionSchema.prefault({}).describe('Redaction of recorded requests.'),
  sinks: sinksSchema.default([]).describe('Destinations of records in addition to the log files.'),
  logSeals: z
    .boolean()
    .default(false)
    .describe(
      'Whether each seal is also written to the gateway log, so that truncation of the audit log can be detected.',
    ),
})

export type AuditSettings = z.output<typeof auditSchema>

export function resolveAuditPaths(
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
    sinks: sinks.map((sink) => resolveSinkPaths(sink, absolute)),
  }
}

import { resolve } from 'node:path'
import { z } from 'zod'

const milliseconds = z.int().positive()
const path = z.string().min(1)

const credentialSchema = z
  .strictObject({
    header: z.enum(['authorization', 'x-api-key']).default('authorization'),
    value: z.string().min(1).optional().describe('The value of the header; better given as a file.'),
    file: path.optional().describe('A file that holds the value of the header.'),
  })
  .refine(
    ({ value, file }) => (value === undefined) !== (file === undefined),
    'expected either value or file',
  )

/** The settings of a catalog elsewhere. */
export const remoteSettingsSchema = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .refine(isPlainUrl, 'expected a URL without user, password, query and fragment; see `credential`')
    .describe('Where the catalog answers; a path goes in front of every route.'),
  delimiter: z.string().min(1).max(16).default('$').describe('What joins the parts of an id there.'),
  credential: credentialSchema
    .optional()
    .describe('What every request is made with, instead of the identity of its caller.'),
  certificateAuthority: path
    .optional()
    .describe('A file of PEM certificates to trust instead of the system certificates.'),
  maximumConnections: z.int().positive().default(128),
  timeouts: z
    .strictObject({
      connectMs: milliseconds.default(5_000),
      answerMs: milliseconds
        .default(300_000)
        .describe('From the end of the request to the head of the answer.'),
      idleMs: milliseconds.default(60_000).describe('Between two pieces of an answer.'),
    })
    .prefault({}),
})

/** The settings of a catalog elsewhere, checked, with every default filled in. */
export type RemoteSettings = z.output<typeof remoteSettingsSchema>

/** The settings with the paths of files resolved against that folder. */
export function withAbsolutePaths(settings: RemoteSettings, folder: string): RemoteSettings {
  const { certificateAuthority, credential } = settings
  return {
    ...settings,
    ...(certificateAuthority !== undefined && {
      certificateAuthority: resolve(folder, certificateAuthority),
    }),
    ...(credential?.file !== undefined && {
      credential: { ...credential, file: resolve(folder, credential.file) },
    }),
  }
}

/** What goes beyond scheme, host and path would be lost, or a secret that is printed. */
function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password, search, hash } = new URL(text)
  return [username, password, search, hash].every((part) => part === '')
}

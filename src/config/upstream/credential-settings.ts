import { z } from 'zod'
import { path } from '../file-settings.ts'

/** Credential of one service for another: the value of a header. */
export const credentialSchema = z
  .strictObject({
    header: z
      .enum(['authorization', 'x-api-key'])
      .default('authorization')
      .describe('Header of the credential.'),
    value: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'Header value; use `file` for secrets.', secret: true }),
    file: path.optional().describe('File with the header value, or with a Bearer token alone.'),
  })
  .refine(
    ({ value, file }) => (value === undefined) !== (file === undefined),
    'expected either value or file',
  )
  .superRefine(({ header, value }, context) => {
    const problem = value === undefined ? undefined : findCredentialProblem(header, value)
    if (problem !== undefined) context.addIssue({ code: 'custom', path: ['value'], message: problem })
  })

/** Returns why a value cannot be that of the header; undefined if it can. The message does not contain the value. */
export function findCredentialProblem(header: string, value: string): string | undefined {
  // RFC 9110, section 11.4.
  const hasScheme = header !== 'authorization' || /^[A-Za-z][\w.+-]* +\S/.test(value.trim())
  return hasScheme ? undefined : 'has no scheme; expected a value such as "Bearer TOKEN"'
}

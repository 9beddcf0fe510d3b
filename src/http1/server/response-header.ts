import { isHeaderField } from '../codec/header-fields.ts'

/** Only the server writes them. */
const connectionHeaders: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding'])

/** Throws for a header of a response (lower-case name) that is not one line, or that controls the connection. */
export function assertResponseHeader(name: string, value: string): void {
  if (connectionHeaders.has(name) || !isHeaderField(name, value))
    throw new Error(`the header ${name} cannot be sent`)
}

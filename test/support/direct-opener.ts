import { fixed } from '../../src/lib/fs/follow-files.ts'
import { directOutbound } from '../../src/outbound/outbound.ts'
import { createSocketOpener } from '../../src/outbound/socket-opener.ts'

/** Opens connections without a proxy, with the authorities of the system. */
export const directOpener = createSocketOpener(directOutbound, fixed({}))

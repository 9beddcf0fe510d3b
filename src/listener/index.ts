/**
 * Accepts connections, in the clear and over TLS, and says who is at the other end of each.
 */
export type { ConnectionErrorReason } from './connection-set.ts'
export { shutDownGracefully } from './graceful-shutdown.ts'
export { createListener, type Listener, type ListenerOptions } from './listener.ts'

/**
 * Accepts connections, in the clear and over TLS, and says who is at the other end of each.
 */
export { shutDownGracefully } from './graceful-shutdown.ts'
export { type ConnectionErrorReason, createListener, type ListenerOptions } from './listener.ts'

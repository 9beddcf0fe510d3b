/** Accepts connections, in the clear and over TLS, and identifies the peer of each. */
export { shutDownGracefully } from './graceful-shutdown.ts'
export { type ConnectionErrorReason, createListener, type ListenerOptions } from './listener.ts'

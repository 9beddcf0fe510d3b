// Pods share the network of this machine, so what listens on all addresses of a pod listens on POD_ADDRESS.
const { Server } = require('node:net')

const listen = Reflect.get(Server.prototype, 'listen')
const anyAddress = new Set(['0.0.0.0', '::', undefined])

Server.prototype.listen = function listenOnPodAddress(options, ...others) {
  const isObject = typeof options === 'object' && options !== null && options.port !== undefined
  if (!isObject || !anyAddress.has(options.host)) return listen.call(this, options, ...others)
  return listen.call(this, { ...options, host: process.env.POD_ADDRESS }, ...others)
}

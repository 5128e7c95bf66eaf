import { fileURLToPath } from 'node:url'

export default {
  distDir: 'dist',
  turbopack: { root: fileURLToPath(new URL('../../..', import.meta.url)) },
}

import { fileURLToPath } from 'node:url'

export default {
  // Under a dot, where the compiler does not look, and under a name that git and the linter leave out.
  distDir: '.next/dist',
  turbopack: { root: fileURLToPath(new URL('../../..', import.meta.url)) },
}

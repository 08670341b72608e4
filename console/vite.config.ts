import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  plugins: [react()],
  build: {
    manifest: true,
    // The policy allows no `data:` scripts and fonts, and a small file is cheap.
    assetsInlineLimit: 0,
    // They have `light-dark()`: its replacement for older ones does not know how Mantine sets the scheme.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
  },
});

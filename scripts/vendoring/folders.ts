/** The folders of the project that `npm run packages` and `npm run fonts` fill. `npm start` and the image use them. */
import { fileURLToPath } from "node:url";

export const PACKAGES_FOLDER = fileURLToPath(new URL("../../vendor/packages", import.meta.url));
export const FONTS_FOLDER = fileURLToPath(new URL("../../vendor/fonts", import.meta.url));

export function vendoredSettings(): Record<string, string> {
  return {
    SERVICE_PACKAGE_PATH: PACKAGES_FOLDER,
    // The setting separates folders by colons, so it cannot name a folder whose path has a colon.
    ...(!FONTS_FOLDER.includes(":") && { SERVICE_FONT_PATHS: FONTS_FOLDER }),
  };
}

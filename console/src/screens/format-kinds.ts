/** As the API has them, in the words of its `formatLabel`. */
export const formatKinds = [
  ['image', 'Image'],
  ['html5', 'HTML5'],
  ['display_tag', 'Display tag'],
  ['image_carousel', 'Image carousel'],
  ['video_hosted', 'Video'],
  ['video_vast', 'Video (VAST)'],
  ['audio_hosted', 'Audio'],
  ['audio_vast', 'Audio (VAST)'],
  ['audio_daast', 'Audio (DAAST)'],
  ['sponsored_placement', 'Sponsored placement'],
  ['native_in_feed', 'Native in-feed'],
  ['responsive_creative', 'Responsive creative'],
  ['agent_placement', 'Agent placement'],
  ['seller_rendered_stateful_display', 'Seller-rendered display'],
  ['coordinated_placements', 'Coordinated placements'],
  ['custom', 'Custom'],
] as const;
